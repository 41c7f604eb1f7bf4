"""Where the archive stores what: see archive."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

from ...domain.model import SessionRef
from ...domain.retention.receipts import Receipt
from ...providers.archives.base import Storage

RECEIPT, PENDING = ".json", "pending"
_LEVELS = ("app=", "user=", "session=")
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
    return below(archives(tenant), *ref)


def part(value: str, prefix: str = "=") -> str:
    """Returns a part of a name: a hash takes the place of the end of a long one."""
    safe = quote(value, safe="")
    if len(safe) <= _LONGEST_PART:
        return prefix + safe
    return f"{prefix}{safe[: _LONGEST_PART - 65]}~{hashlib.sha256(value.encode()).hexdigest()}"


def below(above: str, *names: str | None, level: int = 0) -> str:
    """Returns the folder of an app, of its user, or of their session below another one; None ends the names. `level`: of the
    first name."""
    parts = [above]
    for prefix, name in zip(_LEVELS[level:], names, strict=False):
        if name is None:
            break
        parts.append(part(name, prefix))
    return "/".join(parts)


async def narrowest(storage: Storage, above: str, wanted: Named) -> Sequence[str]:
    """Returns the narrowest folders below one with all that is wanted. Raises StorageFailed."""
    if wanted.app is not None or wanted.user_id is None:
        return [below(above, *wanted)]
    return [below(each, wanted.user_id, wanted.session_id, level=1) for each in await storage.folders(above)]


def archives(tenant: str) -> str:
    return f"archives/{part(tenant, 'tenant=')}"


def labels(tenant: str) -> str:
    return f"labels/{part(tenant)}"


def label(tenant: str, name: str, value: str) -> str:
    """Returns the folder with the entries of a label."""
    return f"{labels(tenant)}/{hashlib.sha256(json.dumps([name, value]).encode()).hexdigest()}"


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
