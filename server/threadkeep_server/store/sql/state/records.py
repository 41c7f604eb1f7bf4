"""Changes of state in change rows: the column `state`, JSON that is encrypted like the values."""

from __future__ import annotations

import json
from json.encoder import encode_basestring as quoted

from ....domain.errors import EncryptionKeyDestroyed
from ....domain.state.state import StatePatch, StateRecord, StateScope
from ..encryption.codec import StoredCodec

_FLAGS = ("omitted", "deleted")


def sealed(codec: StoredCodec, tenant: str, record: StateRecord) -> bytes:
    """Returns the column. The tenant is `ready`."""
    patch = record.patch
    # Written in parts, in half the time that json takes: every append with a delta has a record.
    values = ",".join([f"{quoted(key)}:{quoted(value)}" for key, value in patch.set.items()])
    removed = ",".join(map(quoted, patch.remove))
    flags = "".join([f',"{name}":true' for name in _FLAGS if getattr(record, name)])
    text = f'{{"scope":{record.scope:d},"version":{record.version},"set":{{{values}}},"remove":[{removed}]{flags}}}'
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
    flags = {name: name in data for name in _FLAGS}
    return StateRecord(StateScope(data["scope"]), data["version"], patch, **flags)
