"""What a newer server is made to say is still what the server said."""

from __future__ import annotations

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from tests.conformance.messages import BY_PATH, RPCS, plain
from tests.conformance.proxy import newer
from threadkeep.v1.compaction_pb2 import Compaction
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.event_service_pb2 import GetContextResponse
from threadkeep.v1.message_pb2 import ROLE_USER, ChatMessage, Part
from threadkeep.v1.session_pb2 import Session, SessionRef
from threadkeep.v1.session_service_pb2 import ListSessionsResponse
from threadkeep.v1.subscription_pb2 import Change, CompactionNotice, EventBatch
from threadkeep.v1.subscription_service_pb2 import WatchAllResponse

EVENT = SessionEvent(event_id="e1", message=ChatMessage(role=ROLE_USER, parts=[Part(text="hi")]))


def _numbers(message: Message) -> list[int]:
    fields = UnknownFieldSet(message)
    return [fields[n].field_number for n in range(len(fields))]


def test_every_message_has_fields_that_this_version_lacks_and_all_that_it_knows() -> None:
    response = GetContextResponse(events=[EVENT], truncated=True)
    path = RPCS["EventService/GetContext"].path
    found = BY_PATH[path].response.FromString(newer.response(path, response.SerializeToString()))
    assert plain(found) == plain(response)
    event = found.events[0]  # type: ignore[attr-defined]
    for message in (found, event, event.message, event.message.parts[0]):
        assert _numbers(message) == [1999, 1998]


def test_maps_stay_as_they_are() -> None:
    response = ListSessionsResponse(sessions=[Session(labels={"a": "b"})])
    path = RPCS["SessionService/ListSessions"].path
    assert plain(BY_PATH[path].response.FromString(newer.response(path, response.SerializeToString()))) == plain(response)


def test_a_watch_receives_unknown_kinds_after_each_change_but_not_between_its_parts() -> None:
    ref = SessionRef(session_id="s1")
    parts = [
        Change(session=ref, batch=EventBatch(events=[EVENT], continues=True), resume_token="0"),
        Change(session=ref, batch=EventBatch(events=[EVENT]), resume_token="1"),
        Change(session=ref, compaction=CompactionNotice(compaction=Compaction(), continues=True), resume_token="1"),
        Change(session=ref, compaction=CompactionNotice(compaction=Compaction()), resume_token="2"),
    ]
    path = RPCS["SubscriptionService/WatchAll"].path
    data = newer.response(path, WatchAllResponse(changes=parts).SerializeToString())
    found = WatchAllResponse.FromString(data).changes
    assert [change.WhichOneof("kind") for change in found] == [
        *("batch", "batch", None, "checkpoint"),
        *("compaction", "compaction", None, "checkpoint"),
    ]
    assert [change.resume_token for change in found] == ["0", "1", "1", "1", "1", "2", "2", "2"]
    assert 999 in _numbers(found[2])
    assert found[3].checkpoint.kind == newer.CHECKPOINT_KIND


def test_the_reason_is_another_and_all_else_of_an_error_stays() -> None:
    status = Status(code=5, message="no")
    status.details.add().Pack(ErrorInfo(reason="SESSION_NOT_FOUND", metadata={"a": "b"}))
    status.details.add().Pack(RetryInfo())
    ((first, text), (key, packed)) = newer.reason((("x-id", "1"), ("grpc-status-details-bin", status.SerializeToString())))
    assert (first, text, key) == ("x-id", "1", "grpc-status-details-bin")
    assert isinstance(packed, bytes)
    found, info = Status.FromString(packed), ErrorInfo()
    assert found.details[0].Unpack(info)
    assert (found.code, info.reason, dict(info.metadata)) == (5, newer.REASON, {"a": "b"})
    assert found.details[1] == status.details[1]
