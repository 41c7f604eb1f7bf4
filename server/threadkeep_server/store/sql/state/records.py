"""Changes of state in change rows: the column `state`, JSON that is encrypted like the values."""

from __future__ import annotations

import json
from typing import Any

from ....domain.errors import EncryptionKeyDestroyed
from ....domain.state.state import StatePatch, StateRecord, StateScope
from ..encryption.codec import StoredCodec

# Made once: json.dumps makes an encoder for each call that has options.
_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def sealed(codec: StoredCodec, tenant: str, record: StateRecord) -> bytes:
    """Returns the column. The tenant is `ready`."""
    patch = record.patch
    data: dict[str, Any] = {
        "scope": int(record.scope),
        "version": record.version,
        "set": dict(patch.set),
        "remove": patch.remove,
    }
    for name in ("omitted", "deleted"):
        if getattr(record, name):
            data[name] = True
    return codec.encrypt(tenant, _encode(data).encode())


def read(codec: StoredCodec, column: bytes | None) -> StateRecord | None:
    """Returns the record; None without one, or if it is erased: its key was destroyed."""
    if column is None:
        return None
    try:
        data = json.loads(codec.decrypt(column))
    except EncryptionKeyDestroyed:
        return None
    patch = StatePatch(data["set"], tuple(data["remove"]))
    flags = {name: name in data for name in ("omitted", "deleted")}
    return StateRecord(StateScope(data["scope"]), data["version"], patch, **flags)
