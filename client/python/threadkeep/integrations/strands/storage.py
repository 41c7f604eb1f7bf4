"""The storage of bytes under keys."""

from __future__ import annotations

import asyncio
import base64
import builtins
import zlib
from collections.abc import Callable
from typing import TypeVar

from strands.storage import Storage
from strands.types.exceptions import StorageError

from ... import Client, ThreadkeepError, errors

_CHUNK = 1_000_000
_MOST_CHUNKS = 4
T = TypeVar("T")


class ThreadkeepStorage(Storage):
    """Bytes under keys: a session for each key, with the bytes in its state.

    client: its app and user own the keys; an app of its own keeps them out of the lists of conversations. prefix: that of the
    session ids. A key has at most 255 bytes with the prefix. A value has at most 3 MB, compressed. A write replaces the value
    at once, and nothing of the old one is kept. Sessions of keys do not expire. Works in any event loop.
    """

    def __init__(self, client: Client, *, prefix: str = "strands-storage/") -> None:
        self._client = client
        self._prefix = prefix

    async def write(self, key: str, data: bytes) -> None:
        """Store bytes under a key, over those that it has. Raises StorageError."""
        text = base64.b64encode(zlib.compress(data)).decode()
        chunks = {str(at // _CHUNK): text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK)}
        if len(chunks) > _MOST_CHUNKS:
            limit = _MOST_CHUNKS * _CHUNK * 3 // 4
            raise StorageError(f"Failed to write '{key}': {len(data)} bytes are more than {limit} when compressed")
        await _run(f"write '{key}'", lambda: self._write(self._id(key), chunks))

    async def read(self, key: str) -> bytes | None:
        """The bytes of a key; None if it has none. Raises StorageError."""
        return await _run(f"read '{key}'", lambda: self._read(self._id(key)))

    async def delete(self, key: str) -> None:
        """Delete a key; nothing if there is none. Raises StorageError."""
        await _run(f"delete '{key}'", lambda: self._client.delete_session(self._id(key)))

    async def list(self, query: str = "") -> builtins.list[str]:
        """The keys that begin with a text, sorted. Raises StorageError."""
        return await _run(f"list '{query}'", lambda: self._list(query))

    def _id(self, key: str) -> str:
        if not key:
            raise StorageError("Storage key must not be empty")
        return self._prefix + key

    def _write(self, session_id: str, chunks: dict[str, str]) -> None:
        state = self._client.session(session_id).state()
        unused = [str(number) for number in range(len(chunks), _MOST_CHUNKS)]
        try:
            state.patch(chunks, remove=unused)
        except errors.SessionNotFound:
            self._client.create_session(session_id, never_expires=True, return_existing=True)
            state.patch(chunks, remove=unused)

    def _read(self, session_id: str) -> bytes | None:
        try:
            state = self._client.session(session_id).state().get()
        except errors.SessionNotFound:
            return None
        text = "".join(state[str(number)] for number in range(_MOST_CHUNKS) if str(number) in state)
        return zlib.decompress(base64.b64decode(text)) if text else None

    def _list(self, query: str) -> builtins.list[str]:
        found = self._client.sessions(prefix=self._prefix + query, page_size=1000)
        return sorted(session.ref.session_id.removeprefix(self._prefix) for session in found)


async def _run(what: str, call: Callable[[], T]) -> T:
    """The result of a call in a thread."""
    try:
        return await asyncio.to_thread(call)
    except ThreadkeepError as error:
        raise StorageError(f"Failed to {what}: {error}") from error
