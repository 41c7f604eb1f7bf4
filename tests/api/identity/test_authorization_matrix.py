"""Who may call what: every RPC with every role, on own data, on that of another user and of another tenant, over gRPC and HTTP.
What a call needs is read from the options of the protos."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any, NamedTuple

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tests.support.servers.http_gateway import frame
from threadkeep import text_of, user
from threadkeep_server.app.server import Running
from threadkeep_server.domain.roles import NAMES, granted
from threadkeep_server.transport.rpc import required_role

from ..bad_input import requests, streams
from ..bad_input.test_isolation import ref
from ..conftest import running

METHODS: dict[str, MethodDescriptor] = requests.METHODS | streams.METHODS
SECRET = "swordfish"
BOB = "Bearer token-of-bob-at-acme"
TOKENS: dict[str, dict[str, Any]] = {
    f"token-{role}-of-{tenant}": {"tenant": tenant, "roles": [role]} | ({"user_id": "alice"} if tenant == "acme" else {})
    for role in NAMES
    for tenant in ("acme", "other")
} | {
    BOB.removeprefix("Bearer "): {"tenant": "acme", "user_id": "bob"},
    "token-of-an-app-of-acme": {"tenant": "acme", "app": "own"},
    "token-of-the-app-of-acme": {"tenant": "acme", "app": "app"},
}
# What a request needs in addition to the names of a session, a user and an app, to be checked against the caller.
CONTENT: dict[str, dict[str, Any]] = {
    "AddMemories": {"memories": [{"id": "m", "content": {"role": "ROLE_USER", "parts": [{"text": "hi"}]}}]},
    "AppendEvents": {"events": [{"message": {"role": "ROLE_USER", "parts": [{"text": "hi"}]}}]},
    "AppendStream": {"append": {"events": [{"message": {"role": "ROLE_USER", "parts": [{"text": "hi"}]}}]}},
    "ApplyCompaction": {"throughSeq": 1},
    "CallTool": {"name": "conversation_search", "argumentsJson": json.dumps({"query": SECRET})},
    "ClearEvents": {"operationId": "o"},
    "CompactSession": {"strategy": {"slidingWindow": {}}},
    "Consume": {"join": {"name": "c"}},
    "DeleteByLabel": {"labels": {"k": "v"}},
    "DeleteConsumer": {"name": "c"},
    "DeleteMemories": {"all": True},
    "DeleteParkedChanges": {"name": "c"},
    "EraseEvents": {"eventIds": ["bobs"]},
    "ForkSession": {"operationId": "o"},
    "GetConsumer": {"name": "c"},
    "GetEvent": {"eventId": "bobs"},
    "ListParkedChanges": {"name": "c"},
    "MoveSession": {"newUserId": "carol", "operationId": "o"},
    "PatchState": {"patch": {"set": {"k": "1"}}},
    "PlanCompaction": {"strategy": {"slidingWindow": {}}},
    "PopEvents": {"operationId": "o"},
    "ReplaceEvents": {"expectedLogVersion": 1},
    "ReplaceSuffix": {"operationId": "o", "expectedEventIds": ["bobs"]},
    "ReplayParkedChanges": {"name": "c"},
    "RewindSession": {"operationId": "o", "atLogVersion": "0"},
    "SearchEvents": {"query": SECRET},
    "SearchMemory": {"query": SECRET},
    "GetMemories": {"names": [{"id": "m"}]},
    "UpsertMemories": {
        "writes": [{"memory": {"id": "m", "content": {"role": "ROLE_USER", "parts": [{"text": "hi"}]}}}],
    },
    "UpdateSession": {"labels": {"k": "v"}, "updateMask": "labels"},
    "WatchAll": {"fromBeginning": True},
}

# RPCs that no caller bound to a user may use, with the field that is refused.
BEYOND_A_USER = {"DeleteApp": "app", "ListUsers": "app", "MoveSession": "new_user_id"}


class Outcome(NamedTuple):
    """The reason of the error, empty for none; its metadata; and all that was returned."""

    reason: str
    metadata: dict[str, str]
    text: str


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    data = tmp_path_factory.mktemp("data")
    with running(data_dir=data, audit_log=str(data / "audit.log"), auth_tokens=TOKENS, sweep_interval="1h") as opened:
        yield opened


@pytest.fixture(scope="module")
def wire(server: Running) -> Iterator[requests.Wire]:
    opened = requests.Wire(server.grpc_port)
    opened.call("CreateSession", session=ref("bob", "secret"), token=BOB)  # roles absent: all of data
    opened.call(
        "AppendEvents",
        session=ref("bob", "secret"),
        events=[user(SECRET, event_id="bobs")],
        token=BOB,
    )
    yield opened
    opened.close()


def fill(message: Message, user_id: str, which: str = "user_id") -> bool:
    """Names a session of the user, or the user, wherever the message has a field for it. Returns whether it has the field
    `which`."""
    named = False
    for field in message.DESCRIPTOR.fields:
        if field.containing_oneof is not None and message.WhichOneof(field.containing_oneof.name):
            continue
        if field.type == FieldDescriptor.TYPE_STRING and not field.is_repeated:
            value = {"user_id": user_id, "app": "app", "session_id": "secret"}.get(field.name)
            if value is not None:
                setattr(message, field.name, value)
                named |= field.name == which
        elif _may_name(field):
            inner = type(getattr(message, field.name))()
            inner.CopyFrom(getattr(message, field.name))
            if fill(inner, user_id, which):
                getattr(message, field.name).CopyFrom(inner)
                named = True
    return named


def _may_name(field: Any) -> bool:
    return (
        field.message_type is not None
        and not field.is_repeated
        and field.name in {"session", "scope", "user", "join", "append"}
    )


def request_of(method: MethodDescriptor, user_id: str, which: str = "user_id") -> tuple[Message, bool]:
    request = ParseDict(CONTENT.get(method.name, {}), GetMessageClass(method.input_type)())
    return request, fill(request, user_id, which)


def over_grpc(server: Running, wire: requests.Wire, method: MethodDescriptor, request: Message, token: str) -> Outcome:
    path, parse = f"/{method.containing_service.full_name}/{method.name}", GetMessageClass(method.output_type).FromString
    channel: Any = wire.channel
    raw, metadata = request.SerializeToString(), (("authorization", f"Bearer {token}"),)
    try:
        if method.client_streaming:
            call: Any = channel.stream_stream(path, response_deserializer=parse)(iter([raw]), timeout=60, metadata=metadata)
        elif method.server_streaming:
            call = channel.unary_stream(path, response_deserializer=parse)(raw, timeout=60, metadata=metadata)
        else:
            call = iter([channel.unary_unary(path, response_deserializer=parse)(raw, timeout=60, metadata=metadata)])
        answer = next(call)
    except grpc.RpcError as error:
        refusal = requests.refusal_of(error)
        return Outcome(refusal.reason, refusal.metadata, refusal.message)
    if method.server_streaming:
        call.cancel()
    return answered(answer)


def answered(answer: Any) -> Outcome:
    """Returns the outcome of an answer, which in a stream of appends may be an error."""
    for result in getattr(answer, "results", ()):
        if result.HasField("error"):
            return Outcome(result.error.reason, dict(result.error.metadata), str(answer))
    return Outcome("", {}, str(answer))


def over_http(server: Running, wire: requests.Wire, method: MethodDescriptor, request: Message, token: str) -> Outcome:
    raw = request.SerializeToString()
    streaming = method.client_streaming or method.server_streaming
    kind = "application/connect+proto" if streaming else "application/proto"
    connection = HTTPConnection("127.0.0.1", server.http_port or 0, timeout=60)
    try:
        headers = {"content-type": kind, "authorization": f"Bearer {token}"}
        path = f"/{method.containing_service.full_name}/{method.name}"
        connection.request("POST", path, frame(raw) if streaming else raw, headers)
        response = connection.getresponse()
        failed = response.status != 200
        if streaming and not failed:
            head = response.read(5)
            body, failed = response.read(int.from_bytes(head[1:])), head[0] == 2
        else:
            body = response.read()
    finally:
        connection.close()
    if failed:
        error = json.loads(body)
        info = streams.error_info(error.get("error", error))
        return Outcome(info["reason"], info.get("metadata", {}), body.decode())
    return answered(GetMessageClass(method.output_type).FromString(body))


def test_the_route_of_memory_needs_the_role_of_its_rpc(server: Running) -> None:
    statuses = {}
    for role in NAMES:
        connection = HTTPConnection("127.0.0.1", server.http_port or 0, timeout=60)
        headers = {"authorization": f"Bearer token-{role}-of-acme"}
        connection.request("PATCH", "/apps/app/users/alice/memory", '{"sessionId": "no-such-session"}', headers)
        statuses[role] = connection.getresponse().status
        connection.close()
    assert statuses == {"reader": 403, "writer": 404, "compactor": 403, "admin": 404, "ops": 403}


@pytest.mark.parametrize("transport", [over_grpc, over_http])
@pytest.mark.parametrize("name", METHODS)
def test_a_call_needs_the_role_of_its_option_and_reaches_own_data_only(
    server: Running, wire: requests.Wire, name: str, transport: Any
) -> None:
    method = METHODS[name]
    needed = required_role(method)
    for role in NAMES:
        for tenant, user_id in (("acme", "alice"), ("acme", "bob"), ("other", "bob")):
            request, names_user = request_of(method, user_id)
            outcome = transport(server, wire, method, request, f"token-{role}-of-{tenant}")
            where = f"{name} as {role} of {tenant} on {user_id}: {outcome}"
            if needed not in granted([role]):
                assert (outcome.reason, outcome.metadata) == ("PERMISSION_DENIED", {"role": needed}), where
            elif name in BEYOND_A_USER and tenant == "acme":
                assert (outcome.reason, outcome.metadata["field"]) == ("PERMISSION_DENIED", BEYOND_A_USER[name]), where
            elif names_user and (tenant, user_id) == ("acme", "bob"):
                assert outcome.reason == "PERMISSION_DENIED", where
                assert outcome.metadata["field"].endswith("user_id"), where
            else:
                assert outcome.reason not in {"PERMISSION_DENIED", "UNAUTHENTICATED", "INTERNAL", "INVALID_FIELD"}, where
            assert SECRET not in outcome.text, where
    events = wire.call("ListEvents", session=ref("bob", "secret"), token=BOB).events
    assert [text_of(event) for event in events] == [SECRET]


@pytest.mark.parametrize("transport", [over_grpc, over_http])
@pytest.mark.parametrize("name", METHODS)
def test_a_caller_bound_to_an_app_reaches_that_app_only(
    server: Running, wire: requests.Wire, name: str, transport: Any
) -> None:
    """The requests name the app `app`, in which bob has said the secret."""
    method = METHODS[name]
    if required_role(method) not in granted(["admin"]):
        return
    request, names_app = request_of(method, "bob", "app")
    outcome = transport(server, wire, method, request, "token-of-an-app-of-acme")
    assert SECRET not in outcome.text
    if names_app:
        assert outcome.reason == "PERMISSION_DENIED", outcome
        assert outcome.metadata["field"].endswith("app"), outcome
        assert "bound to one app" in outcome.text
    else:
        assert outcome.reason not in {"PERMISSION_DENIED", "UNAUTHENTICATED", "INTERNAL", "INVALID_FIELD"}, outcome
    if required_role(method) in granted(["reader"]):
        inside = transport(server, wire, method, request, "token-of-the-app-of-acme")
        assert inside.reason not in {"PERMISSION_DENIED", "UNAUTHENTICATED", "INTERNAL"}, inside


def test_a_caller_bound_to_an_app_sees_what_is_in_it_without_naming_it(wire: requests.Wire) -> None:
    own, app = "Bearer token-of-an-app-of-acme", "Bearer token-of-the-app-of-acme"
    for token, texts in ((own, []), (app, [SECRET])):
        assert [each.ref.app for each in wire.call("ListSessions", token=token).sessions] == ["app" for _ in texts]
        found = wire.call("SearchEvents", user={"user_id": "bob"}, query=SECRET, token=token)
        assert [text_of(hit.event) for hit in found.hits] == texts
    name = ref("bob", "secret", "")
    assert [text_of(event) for event in wire.call("ListEvents", session=name, token=app).events] == [SECRET]
    assert list(wire.call("ListEvents", session=name, token=own).events) == []
    scopes: list[dict[str, Any]] = [{"server": True}, {"user": {"user_id": "bob"}}]
    for scope in scopes:
        refusal = wire.refused("GetCompactionPolicy", scope=scope, token=app)
        assert (refusal.reason, refusal.metadata) == ("PERMISSION_DENIED", {"field": "scope"})
    created = wire.call("CreateSession", session=ref("bob", "mine", ""), token=own).session
    assert created.ref.app == "own"
    wire.call("DeleteSession", session=created.ref, token=own)
    assert wire.refused("GetServerInfo", include_totals=True, token=app).metadata == {"field": "include_totals"}
