"""The token of a client; `credential_aio` does the same for the asynchronous client, whose function may be asynchronous."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from .._channel import Metadata, bearer, token_from_environment
from .trace_context import trace_context

Token = str | Callable[[], str]


class Credential:
    """Sends a token with each call. `token`: the token, or a function that is called for each call; None: THREADKEEP_TOKEN."""

    def __init__(self, token: Token | None) -> None:
        if inspect.iscoroutinefunction(token):
            raise TypeError("the function of the token is asynchronous; use AsyncClient")
        self._function = token if callable(token) else None
        self._metadata = () if callable(token) else bearer(token_from_environment() if token is None else token)

    def __bool__(self) -> bool:
        return self._function is not None or bool(self._metadata)

    def metadata(self) -> Metadata:
        """Returns the metadata of a call: the token, and the trace of the caller. Raises what the function raises, and
        TypeError if it returns no text."""
        token = self._metadata if self._function is None else bearer(self._function())
        return (*token, *trace_context())
