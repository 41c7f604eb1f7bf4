"""Every repeated field of every request has a bound, checked before the elements are. A new field without one fails here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from threadkeep.v1 import consumer_service_pb2, event_pb2, memory_pb2, message_pb2, session_pb2

from .requests import METHODS as UNARY_METHODS
from .requests import Refusal, refusal_of
from .streams import METHODS as STREAM_METHODS
from .streams import Streams, streams_on

# Beyond all bounds: those of values are at most 100,000, those of messages and maps at most 10,000.
MANY_VALUES, MANY_MESSAGES = 100_001, 10_001
METHODS = UNARY_METHODS | STREAM_METHODS
# Its requests are those of AppendEvents; the errors are in its results.
METHODS.pop("AppendStream")
REF = session_pb2.SessionRef(app="app", user_id="alice", session_id="s")
JOIN = consumer_service_pb2.ConsumeRequest(join=consumer_service_pb2.JoinConsumer(name="c")).SerializeToString()
Path = tuple[FieldDescriptor, ...]
# Makes what is checked before the field valid, by the message that holds it.
VALID: dict[str, Callable[[Any], None]] = {
    "SessionEvent": lambda event: event.CopyFrom(
        event_pb2.SessionEvent(
            message=message_pb2.ChatMessage(role=message_pb2.ROLE_USER), synthetic=True, compaction_source="c"
        )
    ),
    "MemoryEntry": lambda entry: entry.content.CopyFrom(
        message_pb2.ChatMessage(role=message_pb2.ROLE_USER, parts=[message_pb2.Part(text="t")])
    ),
    "MemoryName": lambda name: setattr(name, "id", "m"),
    "ForkSessionRequest": lambda request: setattr(request, "operation_id", "o"),
    "ReplaceSuffixRequest": lambda request: setattr(request, "operation_id", "o"),
    "CompactionPolicy": lambda policy: setattr(policy.trigger, "tokens", 1),
    "SetCompactionPolicyRequest": lambda request: setattr(request.scope, "server", True),
    "UpdateSessionRequest": lambda request: request.update_mask.paths.append("labels"),
    "ReplaceEventsRequest": lambda request: setattr(request, "expected_log_version", 1),
    "JoinConsumer": lambda join: setattr(join, "name", "c"),
}


def repeated_fields(message: Descriptor, before: Path = ()) -> Iterator[Path]:
    """Yields the paths to the repeated fields of a message, each type of message once on a path."""
    for field in message.fields:
        path, inner = (*before, field), field.message_type
        if field.is_repeated:
            yield path
        if inner is not None and not inner.GetOptions().map_entry and inner not in {each.message_type for each in before}:
            yield from repeated_fields(inner, path)


def is_output(path: Path) -> bool:
    """OUTPUT_ONLY fields are ignored."""
    return path[-1].full_name == "threadkeep.v1.MemoryEntry.highlights"


FIELDS = {
    f"{name}.{'.'.join(field.name for field in path)}": (name, path)
    for name, method in METHODS.items()
    for path in repeated_fields(method.input_type)
    if not is_output(path)
}


@pytest.fixture(scope="module")
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Streams]:
    with streams_on("sqlite", request, tmp_path_factory.mktemp("data")) as opened:
        opened.call("CreateSession", session=REF)
        yield opened


def filled(method: str, path: Path) -> Message:
    """Returns a request with far too many elements in this field."""
    request: Any = GetMessageClass(METHODS[method].input_type)()
    holder = request
    fields = request.DESCRIPTOR.fields_by_name
    if "session" in fields and fields["session"].containing_oneof is None:
        request.session.CopyFrom(REF)
    if "name" in fields:
        request.name = "c"
    if "scope" in fields and fields["scope"].message_type is memory_pb2.MemoryScope.DESCRIPTOR:
        request.scope.user_id = "alice"
    for field in path:
        if make_valid := VALID.get(holder.DESCRIPTOR.name):
            make_valid(holder)
        if field is path[-1]:
            break
        value = getattr(holder, field.name)
        holder = value.add() if field.is_repeated else value
        holder.SetInParent()
    fill(getattr(holder, path[-1].name), path[-1])
    return request


def fill(values: Any, field: FieldDescriptor) -> None:
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        values.update({str(number): "x" for number in range(MANY_MESSAGES)})
    elif inner is not None:
        values.extend([GetMessageClass(inner)()] * MANY_MESSAGES)
    elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        values.extend(map(str, range(MANY_VALUES)))
    else:
        values.extend([1] * MANY_VALUES)


@pytest.mark.parametrize("name", FIELDS)
def test_a_repeated_field_beyond_its_bound_is_refused_by_its_name(wire: Streams, name: str) -> None:
    method, path = FIELDS[name]
    names = [field.name for field in path]
    refused = refusal(wire, method, filled(method, path))
    assert refused.code is grpc.StatusCode.INVALID_ARGUMENT
    assert refused.reason in {"INVALID_FIELD", "BATCH_TOO_LARGE"}, refused
    # The field, or one around it with a bound of its bytes or of all elements in it.
    refused_field = re.sub(r"\[\d+\]", "", refused.metadata["field"]).rpartition(".")[2]
    of_all = "bytes" in refused.message or refused.reason == "BATCH_TOO_LARGE"
    assert refused_field == names[-1] or (of_all and refused_field in names), refused
    assert refused.metadata.get("limit") or re.search(r"(at most|to) [\d,]+", refused.message), refused


def refusal(wire: Streams, method: str, request: Any) -> Refusal:
    kind = METHODS[method]
    path, raw = f"/{kind.containing_service.full_name}/{method}", request.SerializeToString()
    call: Any = wire.channel.unary_stream(path)
    if kind.client_streaming:
        # A consumer joins before it acknowledges.
        requests = [raw] if request.HasField("join") else [JOIN, raw]
        call, raw = wire.channel.stream_stream(path), iter(requests)
    # A unary call is a stream of one response to the client.
    with pytest.raises(grpc.RpcError) as raised:
        list(call(raw, timeout=60))
    return refusal_of(raised.value)
