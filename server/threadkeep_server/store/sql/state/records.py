"""Changes of state in change rows: the column `state`, JSON that is encrypted like the values."""

from __future__ import annotations

import json

from ....domain.errors import EncryptionKeyDestroyed
from ....domain.state.state import StatePatch, StateRecord, StateScope
from ..encryption.codec import StoredCodec


def sealed(codec: StoredCodec, tenant: str, record: StateRecord) -> bytes:
    """Returns the column. The tenant is `ready`."""
    flags = {name: True for name in ("omitted", "deleted") if getattr(record, name)}
    data = {"scope": int(record.scope), "version": record.version, "set": dict(record.patch.set)}
    text = json.dumps(data | {"remove": record.patch.remove} | flags, ensure_ascii=False, separators=(",", ":"))
    return codec.encrypt(tenant, text.encode())


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
