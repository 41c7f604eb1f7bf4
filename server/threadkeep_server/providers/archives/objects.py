"""Archives in object storage: S3 and what speaks its protocol, Google Cloud Storage, Azure. Needs the extra `archive`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import from_url

from .base import StorageFailed

_CHUNK = 4 << 20
_ALLOW_HTTP = "allow_http"


class Objects:
    """Storage below a URL such as `s3://bucket/prefix`. `options`: of the storage, among them credentials; what they lack comes
    from the environment. Messages of failures name the kind of the error only: those of a storage may contain more."""

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        config: Any = {name: value for name, value in options.items() if name != _ALLOW_HTTP}
        client: Any = {_ALLOW_HTTP: True} if options.get(_ALLOW_HTTP) == "true" else {}
        try:
            self._store = from_url(url, config=config, client_options=client)
        except (BaseError, ValueError, TypeError) as error:
            raise StorageFailed(f"the storage cannot be opened: {type(error).__name__}") from None

    async def put(self, name: str, content: bytes | Path) -> None:
        async with _explained(name):
            await obstore.put_async(self._store, name, content, chunk_size=_CHUNK)

    async def fetch(self, name: str, into: Path) -> bool:
        async with _explained(name):
            try:
                found = await obstore.get_async(self._store, name)
            except (NotFoundError, FileNotFoundError):
                return False
            with into.open("wb") as out:
                async for chunk in found.stream(min_chunk_size=_CHUNK):
                    out.write(chunk)
        return True

    async def get(self, name: str) -> bytes | None:
        async with _explained(name):
            try:
                return bytes(await (await obstore.get_async(self._store, name)).bytes_async())
            except (NotFoundError, FileNotFoundError):
                return None

    async def names(self, prefix: str) -> Sequence[str]:
        found: list[str] = []
        async with _explained(prefix):
            async for some in obstore.list(self._store, prefix):
                found += [each["path"] for each in some]
        return sorted(found)

    async def folders(self, prefix: str) -> Sequence[str]:
        async with _explained(prefix):
            return sorted((await obstore.list_with_delimiter_async(self._store, prefix))["common_prefixes"])

    async def prune(self, prefix: str) -> None:
        """Objects are stored whole or not at all, and there are no folders."""

    async def remove(self, name: str) -> None:
        async with _explained(name):
            try:
                await obstore.delete_async(self._store, name)
            except (NotFoundError, FileNotFoundError):
                return


@asynccontextmanager
async def _explained(name: str) -> AsyncIterator[None]:
    try:
        yield
    except (BaseError, OSError) as error:
        raise StorageFailed(f"the object storage failed at {name}: {type(error).__name__}") from None
