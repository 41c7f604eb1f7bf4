"""Failed logins: what is counted, who is refused for how long, and who is not."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from threadkeep_server.domain.errors import PermissionDenied, RateLimited, ThreadkeepError, Unauthenticated
from threadkeep_server.domain.model import Caller
from threadkeep_server.domain.roles import ANY, READER, granted
from threadkeep_server.transport.audit.peer import PEER
from threadkeep_server.transport.auth import Authenticator
from threadkeep_server.transport.failed_logins import FailedLogins

ANN, BOB = Caller("acme", "ann", granted(["reader"])), Caller("acme", "bob", granted(["ops"]))
RATE_LIMITED, UNAUTHENTICATED = RateLimited.reason, Unauthenticated.reason


class Server:
    """An authenticator that admits two failures, with a clock and the address of the caller."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.logins = FailedLogins(2, lambda: self.now)
        self.refused: list[tuple[str, Caller | None, str]] = []
        self._authenticator = Authenticator(
            {"ann-token": ANN, "bob-token": BOB}, logins=self.logins, refused=lambda *each: self.refused.append(each)
        )

    async def call(self, token: str | None, host: str = "10.0.0.1", role: str = ANY) -> str:
        """Returns the reason of the refusal, or OK."""
        PEER.set((host, 50_000))
        try:
            await self._authenticator.admit(role, token and f"Bearer {token}", method="/S/M")
        except ThreadkeepError as error:
            self.error = error
            return error.reason
        return "OK"


@pytest.fixture
def server() -> Iterator[Server]:
    token = PEER.set(None)
    yield Server()
    PEER.reset(token)


async def test_logins_from_an_address_are_refused_after_too_many_failures_until_the_minute_is_over(server: Server) -> None:
    assert [await server.call(f"guess-{n}") for n in range(3)] == [UNAUTHENTICATED, UNAUTHENTICATED, RATE_LIMITED]
    server.now += 40
    assert await server.call("bob-token") == RATE_LIMITED  # it may be a guess
    assert isinstance(server.error, RateLimited)
    assert (server.error.metadata["limit"], server.error.retry_after_s) == ("failed_logins", 20)
    assert await server.call("bob-token", host="10.0.0.2") == "OK"
    server.now += 20
    assert [await server.call("bob-token"), await server.call("guess")] == ["OK", UNAUTHENTICATED]
    assert server.logins.total() == 5


async def test_a_client_that_was_accepted_before_is_not_locked_out_by_others_at_its_address(server: Server) -> None:
    assert await server.call("ann-token") == "OK"
    assert [await server.call("guess") for _ in range(3)] == [UNAUTHENTICATED, UNAUTHENTICATED, RATE_LIMITED]
    assert await server.call("ann-token") == "OK"


async def test_calls_without_a_token_are_no_logins(server: Server) -> None:
    assert {await server.call(token) for token in (None, "", " ") for _ in range(5)} == {UNAUTHENTICATED}
    assert (server.logins.total(), server.refused) == (0, [])


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2", False),
    ],
)
async def test_the_addresses_of_one_site_count_as_one(server: Server, first: str, second: str, same: bool) -> None:
    assert [await server.call("guess", first) for _ in range(2)] == [UNAUTHENTICATED] * 2
    assert await server.call("guess", second) == (RATE_LIMITED if same else UNAUTHENTICATED)


async def test_failures_are_logged_once_a_minute_without_the_token(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            await server.call("guess")
        server.now += 60
        await server.call("guess")
    where = "the last one from 10.0.0.1:50000"
    assert [each.getMessage() for each in caplog.records] == [
        f"failed logins so far: 1, {where}",
        f"failed logins so far: 6, {where}",
    ]


async def test_refusals_are_audited_up_to_the_limit_and_those_of_a_role_with_the_caller(server: Server) -> None:
    assert [await server.call("guess") for _ in range(4)][-1] == RATE_LIMITED
    assert await server.call("bob-token", "10.0.0.2", READER) == PermissionDenied.reason
    assert server.refused == [("/S/M", None, UNAUTHENTICATED)] * 2 + [("/S/M", BOB, PermissionDenied.reason)]


async def test_no_limit_means_that_no_login_is_refused() -> None:
    logins = FailedLogins(0)
    for _ in range(500):
        logins.check(b"")
        logins.failed(b"")
    assert logins.total() == 500
