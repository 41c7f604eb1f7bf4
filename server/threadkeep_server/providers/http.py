"""The HTTP client below the vendors' libraries: bounded responses, and errors by what happened on the wire.

Each library wraps the exceptions of its HTTP client in its own classes. Errors are classified below the libraries, so that the
result is the same for all vendors, and the body of an error, which may quote keys and prompts, is never read.
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

from ..telemetry.spans import headers
from .errors import ProviderError

MAX_ANSWER_BYTES = 4 << 20
_RETRIED = frozenset({408, 409, 429})
_UNREADABLE = "gave an answer that cannot be read"
# Headers of the transfer; the body is passed on decoded.
_OF_THE_TRANSFER = frozenset({"content-encoding", "content-length", "transfer-encoding"})

_log = logging.getLogger(__name__)


class ModelClient(httpx2.AsyncClient):
    """Reads a whole response of up to `max_answer_bytes`, and passes the trace of the caller on. Every failure raises
    ProviderError."""

    def __init__(self, address: str, *, max_answer_bytes: int = MAX_ANSWER_BYTES) -> None:
        super().__init__(
            # Proxies of the environment are not for loopback addresses.
            trust_env=not _is_loopback(address),
            follow_redirects=False,  # keys and conversations go to the configured address only
            timeout=None,  # the caller bounds the whole attempt, which also ends a slow response
            headers={"accept-encoding": "identity"},
        )
        self._max_answer_bytes = max_answer_bytes

    async def send(self, request: httpx2.Request, **kwargs: Any) -> httpx2.Response:
        kwargs["stream"] = True
        request.headers.update(headers())
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
        kept = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _OF_THE_TRANSFER]
        return httpx2.Response(response.status_code, headers=kept, content=body, request=request)


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
    should_retry = response.headers.get("x-should-retry")  # an exhausted quota is 429 too, and no delay helps
    raise ProviderError(
        f"answered with an error ({status})" if status >= 500 else f"refused ({status})",
        retry=should_retry != "false" and (status in _RETRIED or status >= 500),
        free=status < 500,  # the model may have run behind a gateway that failed
        retry_after=_retry_after(response.headers.get("retry-after", "")),
    )


def _retry_after(value: str) -> float:
    """Returns seconds from a number or an HTTP date; 0 for other values."""
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
