"""The HTTP under the vendors' libraries: bounded answers, and failures told by what happened on the wire.

The libraries wrap what their HTTP client raises, each in a tree of its own. Telling failures here, below them, there is one
account for all vendors, and an error's body, which may quote keys and prompts, is not even read.
"""

from __future__ import annotations

import ipaddress
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from .errors import ProviderError

MAX_ANSWER_BYTES = 4 << 20
_RETRIED = frozenset({408, 409, 429})
_UNREADABLE = "gave an answer that cannot be read"
# They describe the body as it came; it is handed on as it was read.
_OF_THE_TRANSFER = frozenset({"content-encoding", "content-length", "transfer-encoding"})

_log = logging.getLogger(__name__)


class ModelClient(httpx2.AsyncClient):
    """Reads an answer whole, up to a limit in bytes. Raises ProviderError, whatever goes wrong."""

    def __init__(self, address: str, *, max_answer_bytes: int = MAX_ANSWER_BYTES) -> None:
        super().__init__(
            # Proxies of the environment lead out of the machine, not back into it.
            trust_env=not _is_loopback(address),
            follow_redirects=False,  # neither key nor conversation goes where nobody pointed
            timeout=None,  # whoever asks bounds the attempt as a whole, which also ends an answer that drips
            headers={"accept-encoding": "identity"},
        )
        self._max_answer_bytes = max_answer_bytes

    async def send(self, request: httpx2.Request, **kwargs: Any) -> httpx2.Response:
        kwargs["stream"] = True
        try:
            response = await super().send(request, **kwargs)
            try:
                _check_status(response)
                body = await _read(response, self._max_answer_bytes)
            finally:
                await response.aclose()
        except (httpx2.ConnectError, httpx2.ProxyError, httpx2.UnsupportedProtocol):
            raise ProviderError("could not be reached", retry=True, free=True) from None
        except httpx2.DecodingError:
            raise ProviderError(_UNREADABLE) from None
        except httpx2.TransportError:
            raise ProviderError("broke off its answer", retry=True) from None
        headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _OF_THE_TRANSFER]
        return httpx2.Response(response.status_code, headers=headers, content=body, request=request)


@contextmanager
def provider_errors() -> Iterator[None]:
    """Wraps a call of a vendor's library. Raises the ProviderError that was raised below the library; any other exception means
    that the answer cannot be read."""
    try:
        yield
    except Exception as error:
        failed = error if isinstance(error, ProviderError) else error.__cause__
        if not isinstance(failed, ProviderError):
            _log.warning("the model's answer cannot be read: %s", type(error).__name__)
            failed = ProviderError(_UNREADABLE)
        raise failed from None


async def _read(response: httpx2.Response, limit: int) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > limit:
            raise ProviderError("gave an answer that is too long")
    return bytes(body)


def _check_status(response: httpx2.Response) -> None:
    status = response.status_code
    if 200 <= status < 300:
        return
    told = response.headers.get("x-should-retry")  # a spent quota is 429 too, and no wait brings it back
    raise ProviderError(
        f"answered with an error ({status})" if status >= 500 else f"refused ({status})",
        retry=told != "false" and (status in _RETRIED or status >= 500),
        free=status < 500,  # behind a gateway's error a model may have worked
        retry_after=_retry_after(response.headers.get("retry-after", "")),
    )


def _retry_after(value: str) -> float:
    """Seconds, from a number or an HTTP date; 0 for anything else."""
    try:
        if value.strip().isdecimal():
            return float(value)
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return 0.0
    return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - time.time())


def _is_loopback(address: str) -> bool:
    host = httpx2.URL(address).host
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
