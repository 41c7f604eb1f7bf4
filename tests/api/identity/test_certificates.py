"""TLS of a running server: callers by their certificate, and certificates that are renewed."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc
import pytest
from cryptography import x509

from tests.support.servers.certificates import Authority
from threadkeep.cli import main
from threadkeep.cli.errors import Exit
from threadkeep.v1 import session_service_pb2, session_service_pb2_grpc
from threadkeep_server.transport import tls_files

from ..bad_input.requests import eventually, refusal_of
from ..conftest import ServerFactory

AGENT = "spiffe://acme/agent"


@pytest.fixture(autouse=True)
def at_each_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_files, "_LOOKS_EVERY_S", 0.0)


@contextmanager
def sessions(port: int, authority: Authority, client: tuple[bytes, bytes] | None = None) -> Iterator[Any]:
    certificate, key = client or (None, None)
    credentials = grpc.ssl_channel_credentials(authority.pem, key, certificate)
    with grpc.secure_channel(f"127.0.0.1:{port}", credentials, (("grpc.use_local_subchannel_pool", 1),)) as channel:
        yield session_service_pb2_grpc.SessionServiceStub(channel)


def code_of(stub: Any, token: str = "") -> str:
    """Returns the reason of the error of ListSessions, or its code, or OK."""
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    try:
        stub.ListSessions(session_service_pb2.ListSessionsRequest(), timeout=30, metadata=metadata)
    except grpc.RpcError as error:
        failed: Any = error
        has_details = any(each[0] == "grpc-status-details-bin" for each in failed.trailing_metadata() or ())
        return refusal_of(failed).reason if has_details else str(failed.code().name)
    return "OK"


def test_a_client_certificate_identifies_the_caller(start_server: ServerFactory, tmp_path: Path) -> None:
    authority, stranger = Authority(), Authority()
    certificate, key = authority.server(tmp_path)
    (tmp_path / "ca.crt").write_bytes(authority.pem)
    server = start_server(
        tls_certificate=certificate,
        tls_private_key=key,
        tls_client_ca=tmp_path / "ca.crt",
        tls_client_identities={
            AGENT: {"tenant": "acme", "user_id": "alice", "roles": ["writer"]},
            "operator": {"tenant": "acme", "roles": ["ops"]},
        },
        auth_tokens={"token-for-grpc-000": {"tenant": "acme"}},
        frontend="grpc",
    )
    port = server.grpc_port
    agent = authority.issue("agent", x509.DNSName("agent.example"), x509.UniformResourceIdentifier(AGENT))
    with sessions(port, authority, agent) as stub:
        request = session_service_pb2.CreateSessionRequest()
        request.session.session_id = "s"
        assert stub.CreateSession(request, timeout=30).session.ref.user_id == "alice"
        request.session.user_id = "bob"
        with pytest.raises(grpc.RpcError) as denied:
            stub.CreateSession(request, timeout=30)
        assert refusal_of(denied.value).metadata == {"field": "session.user_id"}
        assert code_of(stub, "unknown") == "UNAUTHENTICATED"  # a token that is sent decides
    with sessions(port, authority, authority.issue("operator")) as stub:
        assert code_of(stub) == "PERMISSION_DENIED"
    with sessions(port, authority, authority.issue("operator", x509.DNSName("other.example"))) as stub:
        assert code_of(stub) == "UNAUTHENTICATED"  # the common name counts only without other names
        assert code_of(stub, "token-for-grpc-000") == "OK"
    for client in (None, stranger.issue("operator")):
        with sessions(port, authority, client) as stub:
            assert code_of(stub, "token-for-grpc-000") == "UNAVAILABLE"
    for name, content in zip(("agent.crt", "agent.key"), agent, strict=True):
        (tmp_path / name).write_bytes(content)
    ca = [f"--ca={tmp_path / 'ca.crt'}"]
    pair = [f"--certificate={tmp_path / 'agent.crt'}", f"--private-key={tmp_path / 'agent.key'}"]
    listing = ["sessions", "list", "--user", "alice", "--address", f"https://127.0.0.1:{port}"]
    assert main([*ca, *pair, *listing]) == Exit.OK
    assert main([*pair, *listing]) == Exit.UNAVAILABLE, "the CA is not one of the system's"
    assert main([*ca, *pair[:1], *listing]) == Exit.USAGE


@pytest.mark.parametrize("frontend", ["grpc", "envoy"])
def test_a_client_certificate_identifies_the_caller_over_http(
    start_server: ServerFactory, tmp_path: Path, frontend: str
) -> None:
    authority, stranger = Authority(), Authority()
    certificate, key = authority.server(tmp_path)
    (tmp_path / "ca.crt").write_bytes(authority.pem)
    server = start_server(
        tls_certificate=certificate,
        tls_private_key=key,
        tls_client_ca=tmp_path / "ca.crt",
        tls_client_identities={AGENT: {"tenant": "acme", "user_id": "alice", "roles": ["reader"]}},
        auth_tokens={"token-for-http-000": {"tenant": "acme"}},
        frontend=frontend,
    )

    def code(path: str, client: tuple[bytes, bytes] | None, **headers: str) -> str:
        return posted(server.http_port or 0, path, authority, client, tmp_path, headers)

    names = (x509.DNSName("agent.example"), x509.UniformResourceIdentifier(AGENT))
    agent = authority.issue("agent", *names)
    assert code("ListSessions", agent) == "OK"
    assert code("CreateSession", agent) == "PERMISSION_DENIED"
    # A token that is sent decides: it may create sessions, but for no user.
    assert code("CreateSession", agent, authorization="Bearer token-for-http-000") == "INVALID_FIELD"
    assert code("ListSessions", agent, authorization="Bearer unknown-token-000") == "UNAUTHENTICATED"
    pem = quote(agent[0].decode(), safe="")
    for client in (None, authority.issue("other"), authority.issue("x", x509.UniformResourceIdentifier(f"a:b;URI={AGENT}"))):
        assert code("ListSessions", client) == "UNAUTHENTICATED"
        forged = {"x-forwarded-client-cert": f'Hash=1;Cert="{pem}";URI={AGENT}'}
        assert code("ListSessions", client, **forged) == "UNAUTHENTICATED"
    assert code("ListSessions", None, authorization="Bearer token-for-http-000") == "OK"
    with pytest.raises(OSError, match=r"alert|EOF|reset|closed"):
        code("ListSessions", stranger.issue("agent", *names), authorization="Bearer token-for-http-000")
    if frontend == "envoy":
        with sessions(server.grpc_port, authority, agent) as stub:
            assert code_of(stub) == "OK"
        with sessions(server.grpc_port, authority) as stub:
            assert code_of(stub) == "UNAUTHENTICATED"


def posted(
    port: int, path: str, authority: Authority, client: tuple[bytes, bytes] | None, folder: Path, headers: dict[str, str]
) -> str:
    """Returns the reason of the error of an RPC over JSON, or OK."""
    context = ssl.create_default_context(cadata=authority.pem.decode())
    if client is not None:
        pair = folder / "client.pem"
        pair.write_bytes(b"".join(client))
        context.load_cert_chain(pair)
    connection = HTTPSConnection("127.0.0.1", port, context=context, timeout=30)
    try:
        connection.request(
            "POST", f"/threadkeep.v1.SessionService/{path}", "{}", {"content-type": "application/json", **headers}
        )
        response = connection.getresponse()
        body = json.loads(response.read())
    finally:
        connection.close()
    return "OK" if response.status == 200 else str(body["details"][0]["debug"]["reason"])


def test_a_renewed_certificate_is_used_for_new_connections_on_both_ports(start_server: ServerFactory, tmp_path: Path) -> None:
    old, new = Authority(), Authority()
    certificate, key = old.server(tmp_path)
    server = start_server(tls_certificate=certificate, tls_private_key=key, frontend="grpc")
    ports = server.grpc_port, server.http_port or 0
    with sessions(ports[0], old) as stub:
        assert code_of(stub) == "OK"
    before = [presented(port) for port in ports]
    key.write_bytes(b"not a key")  # as while both files are being replaced
    assert [presented(port) for port in ports] == before
    new.server(tmp_path)
    eventually(lambda: presented(ports[1]) != before[1])
    assert {presented(port) for port in ports} == {certificate.read_text()}
    with sessions(ports[0], new) as stub:
        assert code_of(stub) == "OK"


def presented(port: int) -> str:
    """Returns the certificate that a server shows."""
    return ssl.get_server_certificate(("127.0.0.1", port))
