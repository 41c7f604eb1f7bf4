"""TLS and client certificates in every language, with a CA that is made here."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from cryptography import x509

from tests.api.conftest import running
from tests.support.servers.certificates import Authority
from threadkeep.v1 import session_pb2, session_service_pb2

from .conftest import DriverOf
from .drivers import CHOSEN, Driver

pytestmark = pytest.mark.asyncio(loop_scope="session")

AGENT = "spiffe://example.org/agent"
TOKEN = "token-for-tls-0000"
WITHIN = 60.0


class Secured(NamedTuple):
    """A server's address, and another's that admits clients with a certificate only."""

    address: str
    mutual: str
    authority: Authority


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    authority, folder = Authority(), tmp_path_factory.mktemp("tls")
    certificate, key = authority.server(folder)
    (folder / "ca.crt").write_bytes(authority.pem)
    caller = {"tenant": "acme", "user_id": "alice", "roles": ["writer"]}
    tls = {"tls_certificate": certificate, "tls_private_key": key, "frontend": "grpc"}
    mutual = {"tls_client_ca": folder / "ca.crt", "tls_client_identities": {AGENT: caller}}
    with (
        running(**tls, data_dir=folder / "one", auth_tokens={TOKEN: caller}) as one,
        running(**tls, data_dir=folder / "other", **mutual) as other,
    ):
        yield Secured(f"127.0.0.1:{one.grpc_port}", f"127.0.0.1:{other.grpc_port}", authority)


@pytest.fixture(params=CHOSEN)
def driver(request: pytest.FixtureRequest, driver_of: DriverOf) -> Driver:
    return driver_of(request.param)


async def outcome(driver: Driver, address: str, pem: dict[str, str] | None, token: str = "") -> str:
    """Creates a session. Returns its user, or the code of the error."""
    client = f"tls-{driver.language}"
    place = {"client": client, "address": address, "app": "tls", "user_id": "alice", "token": token, "timeout_ms": 10_000}
    answer = await driver.ask("connect", within=WITHIN, **place, tls=pem)
    assert "ok" in answer, answer
    wanted = session_service_pb2.CreateSessionRequest(session=session_pb2.SessionRef(app="tls"), return_existing=True)
    request = base64.b64encode(wanted.SerializeToString()).decode()
    answer = await driver.ask("call", within=WITHIN, client=client, rpc="SessionService/CreateSession", request=request)
    await driver.ask("close", within=WITHIN, client=client)
    if "error" in answer:
        return str(answer["error"]["code"])
    response = session_service_pb2.CreateSessionResponse.FromString(base64.b64decode(answer["ok"]["response"]))
    return response.session.ref.user_id


async def test_a_client_with_the_ca_connects_and_others_do_not(driver: Driver, secured: Secured) -> None:
    pem = {"ca": secured.authority.pem.decode(), "key": "", "certificate": ""}
    assert await outcome(driver, secured.address, pem, TOKEN) == "alice"
    assert await outcome(driver, secured.address, pem | {"ca": Authority().pem.decode()}, TOKEN) == "UNAVAILABLE"


async def test_a_client_certificate_identifies_the_caller(driver: Driver, secured: Secured) -> None:
    names = (x509.DNSName("agent.example"), x509.UniformResourceIdentifier(AGENT))
    certificate, key = secured.authority.issue("agent", *names)
    pem = {"ca": secured.authority.pem.decode(), "key": key.decode(), "certificate": certificate.decode()}
    assert await outcome(driver, secured.mutual, pem) == "alice"
    assert await outcome(driver, secured.mutual, pem | {"key": "", "certificate": ""}) == "UNAVAILABLE"
    certificate, key = secured.authority.issue("stranger")
    pem |= {"key": key.decode(), "certificate": certificate.decode()}
    assert await outcome(driver, secured.mutual, pem) == "UNAUTHENTICATED"
