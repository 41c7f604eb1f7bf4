"""Where the archive stores what: see archive."""

from __future__ import annotations

import hashlib
from typing import NamedTuple
from urllib.parse import quote

from ...domain.model import SessionRef
from ...domain.retention.receipts import Receipt

RECEIPT, PENDING, ARCHIVES = ".json", "pending", "archives"
_LEVELS = ("tenant", "app", "user", "session")
_LONGEST_PART = 200


class Named(NamedTuple):
    """Sessions of an app, of a user, and with an id; None: any."""

    app: str | None = None
    user_id: str | None = None
    session_id: str | None = None


class Stored(NamedTuple):
    """What is stored by the id of a receipt in the folder of its session: the receipt, and its archive if it has one."""

    folder: str
    id: str


def stored_of(name: str) -> Stored:
    """Returns by what an object of a session is stored."""
    return Stored(name.rpartition("/")[0], id_in(name))


def place_of(receipt: Receipt) -> str:
    """Returns the folder of the session of a receipt."""
    return place(receipt.tenant, receipt.ref)


def place(tenant: str, ref: SessionRef) -> str:
    return below(ARCHIVES, tenant, *ref)


def part(value: str, prefix: str = "=") -> str:
    """Returns a part of a name: a hash takes the place of the end of a long one."""
    safe = quote(value, safe="")
    if len(safe) <= _LONGEST_PART:
        return prefix + safe
    return f"{prefix}{safe[: _LONGEST_PART - 65]}~{hashlib.sha256(value.encode()).hexdigest()}"


def below(above: str, *names: str | None) -> str:
    """Returns the folder of these names below `above`, which is `ARCHIVES` or the folder of a level; None ends them."""
    parts = [above]
    for level, name in zip(_LEVELS[above.count("/") :], names, strict=False):
        if name is None:
            break
        parts.append(part(name, f"{level}="))
    return "/".join(parts)


def receipt_name(receipt: Receipt) -> str:
    return f"{place_of(receipt)}/{receipt.id}{RECEIPT}"


def all_pending(tenant: str) -> str:
    return f"{PENDING}/{part(tenant)}"


def pending_name(tenant: str, receipt_id: str) -> str:
    return f"{all_pending(tenant)}/{receipt_id}{RECEIPT}"


def tombstone(tenant: str, receipt_id: str) -> str:
    return f"erased/{part(tenant)}/{receipt_id}"


def marks(tenant: str) -> str:
    return f"erasures/{part(tenant)}"


def id_in(name: str) -> str:
    return name.rpartition("/")[2].partition(".")[0]
