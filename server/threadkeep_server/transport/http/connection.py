"""The connections of the HTTP port: how many there may be, and how long the server waits for their clients."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..asgi import Receive
from ..client_certificates import names_in
from ..connections import ConnectionLimits

# For the rest of a body after its response, which the client may still want to read.
_LINGERS_S: Final = 5.0
CERTIFIED: Final = "client_names"
"""The state of a request that has the names in its client's certificate."""
_LATE: Final = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Connection(H11Protocol):
    """One connection. While no app handles a request of it, the server waits for its client: one timer limits that, however
    many bytes come. The app limits how long a body takes."""

    def __init__(self, limits: ConnectionLimits, **options: Any) -> None:
        super().__init__(**options)
        self._limits = limits
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        tls = transport.get_extra_info("ssl_object")
        certificate = None if tls is None else tls.getpeercert(binary_form=True)
        if certificate:
            self.app_state = {**self.app_state, CERTIFIED: names_in(certificate)}
        if len(self.connections) > self._limits.most:
            transport.abort()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def send_400_response(self, msg: str) -> None:
        """Responds to what is no HTTP. An app may be handling the beginning of it, or have responded to that."""
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def _wait(self) -> None:
        if self.transport.is_closing() or (self.cycle is not None and not self.cycle.response_complete):
            self._stop_waiting()
        elif self._timer is None:
            rest = _LINGERS_S if self.conn.their_state is h11.SEND_BODY else self._limits.request_timeout_s
            self._timer = self.loop.call_later(min(rest, self._limits.request_timeout_s), self._close)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self.transport.write(_LATE)
        self.transport.close()


def bounded(receive: Receive, limits: ConnectionLimits) -> Receive:
    """Returns a `receive` that raises InvalidField for a body that takes too long."""
    loop = asyncio.get_running_loop()
    began, arrived, complete = loop.time(), 0, False

    async def receiving() -> MutableMapping[str, Any]:
        nonlocal arrived, complete
        if complete:
            return await receive()
        try:
            async with asyncio.timeout_at(began + limits.body_timeout_s(arrived)):
                event = await receive()
        except TimeoutError:
            raise limits.too_slow() from None
        arrived += len(event.get("body", b""))
        complete = not event.get("more_body", False)
        return event

    return receiving
