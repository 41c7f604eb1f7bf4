"""What a port allows its clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..domain.errors import InvalidField

_SLOWEST_BYTES_PER_S: Final = 16 << 10


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """`most`: open connections. `request_timeout_s`: for a handshake, the headers of a request, and a small body. `calls`: in
    flight on one connection, subscriptions included."""

    most: int
    request_timeout_s: float
    calls: int = 100_000

    def body_timeout_s(self, arrived: int) -> float:
        """Returns the seconds in which a body must be complete of which so many bytes have arrived."""
        return self.request_timeout_s + arrived / _SLOWEST_BYTES_PER_S

    def too_slow(self) -> InvalidField:
        """Returns the error of a request whose body takes longer."""
        pace = f"within {self.request_timeout_s:g} s and one more for every {_SLOWEST_BYTES_PER_S:,} bytes"
        return InvalidField("request", f"did not arrive {pace}; send less at once, or over a faster connection")


DEFAULT_LIMITS: Final = ConnectionLimits(most=10_000, request_timeout_s=30.0)
