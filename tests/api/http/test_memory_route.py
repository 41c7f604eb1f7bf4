"""PATCH /apps/{app}/users/{user}/memory over plain HTTP."""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.servers.server_process import not_behind_envoy
from threadkeep import Client, SessionRef, user
from threadkeep_server.app.server import Running

from ..conftest import ServerFactory
from ..search.searching import ENGINES, connected, serving

PATH = "/apps/shop/users/alice/memory"
BODY = '{"sessionId": "s1"}'
TOKENS = {"token-of-the-alice": {"tenant": "acme", "user_id": "alice"}, "token-of-the-acme": {"tenant": "acme"}}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def call(
    server: Running, path: str = PATH, body: str | bytes = BODY, *, method: str = "PATCH", token: str = "", **headers: str
) -> Answer:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if token:
        sent["authorization"] = f"Bearer {token}"
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port or 0, timeout=20)
    try:
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
    finally:
        connection.close()


@pytest.fixture(scope="module", params=ENGINES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(request.param, request, tmp_path_factory.mktemp("data")) as opened:
        yield opened


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[Client]:
    with connected(server) as opened:
        opened.append("s1", user("I like tea"), user(" "), create_if_missing=True)
        opened.append("s2", user("I hate fog"), create_if_missing=True)
        yield opened


def test_the_route_adds_the_session_and_returns_counts(server: Running, client: Client) -> None:
    first = call(server, content_type="application/json")
    assert (first.status, first.headers["content-type"]) == (200, "application/json")
    assert first.json == {"added": 1, "existing": 0, "skipped": 1, "deleted": 0}
    assert call(server).json == {"added": 0, "existing": 1, "skipped": 1, "deleted": 0}
    assert call(server, body='{"session_id": "s2"}').json["added"] == 1
    assert [entry.session_id for entry in client.memory().list()] == ["s2", "s1"]


def test_segments_are_percent_decoded_one_by_one(server: Running) -> None:
    for app, user_id, path in (
        ("a/b", "c d", "/apps/a%2Fb/users/c%20d/memory"),
        ("", "zoë", "/apps//users/zo%C3%AB/memory"),
        ("memory", "users", "/apps/memory/users/users/memory"),
        ("%41", "a+b", "/apps/%2541/users/a+b/memory"),
    ):
        with connected(server, app=app, user_id=user_id) as owner:
            owner.append("s1", user("tea"), create_if_missing=True)
            assert call(server, path).json["added"] == 1, path
            assert [entry.scope.user_id for entry in owner.memory().list()] == [user_id]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (PATH, '{"sessionId": "nowhere"}'),
        ("/apps/shop/users/bob/memory", BODY),
        ("/apps/other/users/alice/memory", BODY),
        ("/apps//users/alice/memory", BODY),
    ],
)
def test_an_unknown_session_is_reported(server: Running, client: Client, path: str, body: str) -> None:
    answer = call(server, path, body)
    assert (answer.status, answer.json["code"]) == (404, "not_found")
    assert answer.json["details"][0]["debug"]["reason"] == "SESSION_NOT_FOUND"


BAD_BODIES: list[tuple[str | bytes, str]] = [
    ("", "JSON"),
    ("not JSON", "JSON"),
    (b"\xff\xfe", "JSON"),
    ("[" * 20_000, "JSON"),
    ("[]", "JSON object"),
    ('"s1"', "JSON object"),
    ("{}", "sessionId is required"),
    ('{"sessionId": ""}', "sessionId is required"),
    ('{"sessionId": null}', "sessionId must be a string"),
    ('{"sessionId": 7}', "sessionId must be a string"),
    ('{"sessionId": "s1", "session_id": "s1"}', "keep one"),
    ('{"session": "s1"}', "session is not a field"),
    ('{"sessionId": "s1", "user": "bob"}', "user is not a field"),
    (json.dumps({"sessionId": "x" * 256}), "at most 255 bytes"),
    ('{"sessionId": "a\\u0000"}', "control characters"),
    ('{"sessionId": "\\ud800"}', "unpaired surrogates"),
    ('{"\\ud800": 1}', "is not a field"),
]


@pytest.mark.parametrize(("body", "problem"), BAD_BODIES, ids=range(len(BAD_BODIES)))
def test_a_wrong_body_is_rejected_with_its_field(server: Running, body: str | bytes, problem: str) -> None:
    answer = call(server, body=body)
    assert (answer.status, answer.json["code"]) == (400, "invalid_argument")
    assert problem in answer.json["message"]


@pytest.mark.parametrize(
    "path",
    [
        "/apps/shop/users//memory",
        "/apps/shop/users/%20/memory",
        pytest.param("/apps/shop/users/%FF/memory", marks=not_behind_envoy("it is 403, as tests/faults/test_envoy.py tests")),
    ],
)
def test_an_invalid_path_segment_is_rejected(server: Running, path: str) -> None:
    answer = call(server, path)
    assert (answer.status, answer.json["details"][0]["debug"]["metadata"]["field"]) == (400, "user")


@pytest.mark.parametrize(
    "path", ["/apps/shop/users/alice", "/apps/shop/users/alice/memory/", "/x/apps/shop/users/alice/memory"]
)
def test_other_paths_do_not_exist(server: Running, path: str) -> None:
    assert call(server, path).status == 404
    assert "/apps/{app}/users/{user}/memory" in call(server, path).json["paths"], "the response lists the route"


def test_a_body_over_the_limit_is_rejected(server: Running) -> None:
    answer = call(server, body=b'{"sessionId": "' + b"x" * (65 << 10))
    assert (answer.status, answer.json["code"]) == (413, "resource_exhausted")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS"])
def test_other_methods_are_rejected(server: Running, method: str) -> None:
    answer = call(server, method=method)
    assert (answer.status, answer.headers["allow"]) == (405, "PATCH")
    assert "sessionId" in answer.json["message"]


def test_pages_of_other_origins_are_rejected(server: Running, start_server: ServerFactory) -> None:
    assert call(server, origin="https://evil.example").status == 403
    assert call(server, origin="http://localhost:5173").status in {200, 404}
    guarded = start_server(auth_tokens=TOKENS)
    preflight = call(guarded, method="OPTIONS", body="", origin="https://app.example", access_control_request_method="PATCH")
    assert preflight.status == 204
    assert "PATCH" in preflight.headers["access-control-allow-methods"]


def test_the_credential_decides_which_user_is_allowed(start_server: ServerFactory) -> None:
    guarded = start_server(auth_tokens=TOKENS)
    with connected(guarded, token="token-of-the-acme") as client:
        for name in ("alice", "bob"):
            client.append(SessionRef(app="shop", user_id=name, session_id="s1"), user("tea"), create_if_missing=True)
    for token in ("", "nope"):
        answer = call(guarded, token=token)
        assert (answer.status, answer.json["code"]) == (401, "unauthenticated")
    for path in ("/apps/shop/users/bob/memory", "/apps/shop/users/nobody/memory"):
        answer = call(guarded, path, token="token-of-the-alice")
        assert (answer.status, answer.json["code"]) == (403, "permission_denied")
    assert call(guarded, token="token-of-the-alice").json["added"] == 1
    assert call(guarded, "/apps/shop/users/bob/memory", token="token-of-the-acme").json["added"] == 1


def test_a_server_without_memory_rejects_the_route(start_server: ServerFactory) -> None:
    answer = call(start_server(memory=False))
    assert (answer.status, answer.json["code"]) == (400, "failed_precondition")
    assert answer.json["details"][0]["debug"]["reason"] == "MEMORY_NOT_CONFIGURED"
    assert "memory = true" in answer.json["message"]


def test_the_home_page_lists_the_route(server: Running) -> None:
    page = call(server, "/", "", method="GET").body.decode()
    assert '/apps/{app}/users/{user}/memory with {"sessionId": "..."}' in page
    assert "/threadkeep.v1.MemoryService/SearchMemory" in page


def test_the_curl_command_of_the_readme_works(server: Running, client: Client) -> None:
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("there is no curl on this machine")
    url = f"http://127.0.0.1:{server.http_port}{PATH}"
    done = subprocess.run([curl, "-sS", "-X", "PATCH", "-d", BODY, url], capture_output=True, timeout=20, check=True)
    assert set(json.loads(done.stdout)) == {"added", "existing", "skipped", "deleted"}
    assert done.stdout.endswith(b"\n")
