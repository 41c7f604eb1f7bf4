"""The token of a client; `credential_threads` does the same for the synchronous client, whose function returns at once."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable

from .._channel import Metadata, bearer, token_from_environment
from ..errors import Unavailable
from .trace_context import trace_context

Token = str | Callable[[], str | Awaitable[str]]
TOKEN_WITHIN = 30.0
"""Seconds within which the function of a token must return."""


class Credential:
    """Sends a token with each call. `token`: the token, or a function that is called for each call; None: THREADKEEP_TOKEN."""

    def __init__(self, token: Token | None) -> None:
        self._function = token if callable(token) else None
        self._metadata = () if callable(token) else bearer(token_from_environment() if token is None else token)

    def __bool__(self) -> bool:
        return self._function is not None or bool(self._metadata)

    async def metadata(self) -> Metadata:
        """Returns the metadata of a call: the token, and the trace of the caller. Raises what the function raises, TypeError if
        it returns no text, and Unavailable if it takes longer than 30 seconds."""
        if self._function is None:
            return (*self._metadata, *trace_context())
        token = self._function()
        if inspect.isawaitable(token):
            try:
                async with asyncio.timeout(TOKEN_WITHIN):
                    token = await token
            except TimeoutError:
                raise Unavailable(f"the function of the token did not return within {TOKEN_WITHIN:g} s") from None
        return (*bearer(token), *trace_context())
