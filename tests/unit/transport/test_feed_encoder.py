"""Encodings of changes equal those of protobuf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.codec import event
from tests.support.runs.thoroughness import examples
from tests.support.tokens import resume_tokens
from threadkeep.v1 import event_pb2
from threadkeep.v1 import subscription_pb2 as pb
from threadkeep.v1 import subscription_service_pb2 as service_pb
from threadkeep_server.domain.feed import BEGINNING, Change, ChangeKind, FeedEvent, FeedScope, Position
from threadkeep_server.domain.model import Compaction, Counters, Role, Session, SessionRef, Usage
from threadkeep_server.domain.removals import Removal, RemovalKind
from threadkeep_server.domain.state.state import StatePatch, StateRecord, StateScope
from threadkeep_server.feed.encoder import CheckpointKind
from threadkeep_server.feed.limits import MOST_FRAME_BYTES
from threadkeep_server.transport.convert.compaction import compaction_to
from threadkeep_server.transport.convert.feed_encoder import FeedEncoder, delivery_change
from threadkeep_server.transport.convert.removals import removal_to
from threadkeep_server.transport.convert.sessions import ref_to, session_to, set_time
from threadkeep_server.transport.convert.state import state_change_to

SCOPE = FeedScope("acme")
ENCODER = FeedEncoder(resume_tokens("store-1"), b"")
WATCH_ENCODER = ENCODER.encoder(SCOPE)
BEFORE, AT = Position(5, 6), Position(7, 8)
REF = SessionRef("shop", "ann", "s1")
MOST = (1 << 63) - 1
COUNTS = st.one_of(st.integers(0, 3), st.integers(120, 130), st.integers(16_380, 16_390), st.integers(0, MOST))
TEXTS = st.text(max_size=200)
LABELS = st.dictionaries(TEXTS, TEXTS, max_size=3)
REFS = st.builds(SessionRef, TEXTS, TEXTS, TEXTS)
COUNTERS = st.builds(Counters, COUNTS, COUNTS, COUNTS, COUNTS)
SESSIONS = st.builds(
    Session,
    ref=REFS,
    uid=TEXTS,
    create_time=COUNTS,
    update_time=COUNTS,
    expire_time=st.none() | COUNTS,
    metadata_json=TEXTS,
    labels=LABELS,
    log_version=COUNTS,
    window_version=COUNTS,
    last_seq=COUNTS,
    window=COUNTERS,
    usage=st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS),
    context_bytes=COUNTS,
)
COMPACTIONS = st.builds(
    Compaction,
    compaction_id=TEXTS,
    time=COUNTS,
    strategy=TEXTS,
    actor=TEXTS,
    branch=TEXTS,
    archived=COUNTS,
    first_seq=COUNTS,
    last_seq=COUNTS,
    inserted=st.lists(TEXTS, max_size=3).map(tuple),
    before=COUNTERS,
    after=COUNTERS,
    log_version=COUNTS,
    window_version=COUNTS,
)
REMOVALS = st.builds(
    Removal,
    kind=st.sampled_from(RemovalKind),
    erased=st.booleans(),
    count=COUNTS,
    event_ids=st.lists(TEXTS, max_size=3).map(tuple),
    seqs=st.lists(COUNTS, max_size=3).map(tuple),
    through_seq=COUNTS,
)
WITH_EVENTS = (ChangeKind.APPENDED, ChangeKind.COMPACTED, ChangeKind.REMOVED, ChangeKind.COPIED)
OF_SESSIONS = (ChangeKind.CREATED, ChangeKind.UPDATED, ChangeKind.MOVED, ChangeKind.DELETED)
STATES = st.builds(
    StateRecord,
    scope=st.sampled_from(StateScope),
    version=COUNTS,
    patch=st.builds(StatePatch, LABELS, st.lists(TEXTS, max_size=3).map(tuple)),
    omitted=st.booleans(),
    deleted=st.booleans(),
)
EVENTS = st.lists(st.tuples(TEXTS, st.booleans()), max_size=4)


def _event(text: str, archived: bool = False) -> FeedEvent:
    body = event(text, event_id="é1").SerializeToString(deterministic=True)
    return FeedEvent(seq=1, time=0, role=Role.USER, archived=archived, body=body)


def _published(stored: FeedEvent) -> event_pb2.SessionEvent:
    message = event_pb2.SessionEvent.FromString(stored.body)
    message.archived = stored.archived
    return message


@st.composite
def _changes(draw: st.DrawFn) -> Change:
    kind = draw(st.sampled_from(ChangeKind))
    numbers = draw(st.lists(COUNTS, min_size=8, max_size=8))
    gone = draw(st.sampled_from(["DELETED", "EXPIRED", "MOVED_OUT"])) if kind is ChangeKind.DELETED else ""
    return Change(
        AT,
        kind,
        "acme",
        draw(REFS),
        1,
        numbers[0],
        log_version=numbers[1],
        window_version=numbers[2],
        last_seq=numbers[3],
        window_events=numbers[4],
        window_turns=numbers[5],
        window_bytes=numbers[6],
        window_tokens=numbers[7],
        labels=draw(LABELS),
        expired=gone == "EXPIRED",
        moved=gone == "MOVED_OUT",
        after=draw(SESSIONS) if kind in OF_SESSIONS else None,
        compaction=draw(COMPACTIONS) if kind is ChangeKind.COMPACTED else None,
        removal=draw(REMOVALS) if kind is ChangeKind.REMOVED else None,
        state=draw(STATES) if kind is ChangeKind.STATE or (kind is ChangeKind.APPENDED and draw(st.booleans())) else None,
    )


def _expected(change: Change, events: Sequence[FeedEvent]) -> pb.Change:
    """Returns the change as a protobuf message, without its token."""
    result = pb.Change(session=ref_to(change.ref))
    set_time(result.change_time, change.time)
    shown = [_published(each) for each in events]
    if change.kind in (ChangeKind.APPENDED, ChangeKind.COPIED):
        result.batch.SetInParent()
        result.batch.events.extend(shown)
        if change.state is not None:
            result.batch.state.CopyFrom(state_change_to(change.state))
    elif change.kind is ChangeKind.COMPACTED:
        assert change.compaction
        result.compaction.compaction.CopyFrom(compaction_to(change.compaction))
        result.compaction.inserted.extend(shown)
    elif change.kind is ChangeKind.REMOVED:
        assert change.removal
        result.removal.CopyFrom(removal_to(change.removal))
        result.removal.inserted.extend(shown)
    elif change.kind is ChangeKind.STATE:
        assert change.state
        result.state.CopyFrom(state_change_to(change.state))
    else:
        assert change.after
        kind = "EXPIRED" if change.expired else "MOVED_OUT" if change.moved else change.kind.name.replace("MOVED", "MOVED_IN")
        result.session_change.kind = pb.SessionChangeKind.Value(f"SESSION_CHANGE_KIND_{kind}")
        if change.kind is ChangeKind.DELETED:
            gone = result.session_change.session
            gone.ref.CopyFrom(ref_to(change.after.ref))
            gone.uid = change.after.uid
            gone.labels.update(change.after.labels)
        else:
            result.session_change.session.CopyFrom(session_to(change.after))
    if change.kind in WITH_EVENTS:
        versions = result.versions
        versions.log_version, versions.window_version, versions.last_seq = (
            change.log_version,
            change.window_version,
            change.last_seq,
        )
        versions.window.SetInParent()
        versions.window.events, versions.window.turns = change.window_events, change.window_turns
        versions.window.bytes, versions.window.tokens = change.window_bytes, change.window_tokens
    return result


def _encoded(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)


def _told(messages: Sequence[bytes]) -> list[pb.Change]:
    return [only for message in messages for only in service_pb.WatchAllResponse.FromString(message).changes]


@settings(max_examples=examples(300))
@given(_changes(), EVENTS)
def test_a_change_equals_the_protobuf_encoding(change: Change, texts: list[tuple[str, bool]]) -> None:
    has_events = change.kind in WITH_EVENTS
    events = [_event(text, archived) for text, archived in texts] if has_events else []
    expected = _expected(change, events)
    assert delivery_change(change, events) == _encoded(expected)
    expected.resume_token = ENCODER.token(SCOPE, AT)
    message = _encoded(service_pb.WatchSessionResponse(changes=[expected]))
    assert WATCH_ENCODER.change(change, events, BEFORE) == [message]
    assert message == _encoded(service_pb.WatchAllResponse(changes=[expected]))


@pytest.mark.parametrize("kind", CheckpointKind)
def test_a_checkpoint_contains_only_its_kind_and_token(kind: CheckpointKind) -> None:
    expected = pb.Change(checkpoint=pb.Checkpoint(kind=pb.CheckpointKind.ValueType(kind)))
    expected.resume_token = ENCODER.token(SCOPE, AT)
    assert kind.name == pb.CheckpointKind.Name(expected.checkpoint.kind).removeprefix("CHECKPOINT_KIND_")
    assert WATCH_ENCODER.checkpoint(kind, AT) == _encoded(service_pb.WatchSessionResponse(changes=[expected]))


def test_concatenated_messages_are_one_message() -> None:
    change = Change(AT, ChangeKind.APPENDED, "acme", REF, 1, 2)
    several = [WATCH_ENCODER.checkpoint(CheckpointKind.STARTED, BEFORE), *WATCH_ENCODER.change(change, [_event("a")], BEFORE)]
    assert _told([b"".join(several)]) == _told(several)


def test_a_time_before_the_epoch_is_encoded() -> None:
    change = Change(AT, ChangeKind.APPENDED, "acme", REF, 1, -1)
    assert delivery_change(change, []) == _encoded(_expected(change, []))


_COMPACTION = Compaction("c1", 1, "x", "", "", 1, 1, 1, (), Counters(), Counters(), 1, 1)


@pytest.mark.parametrize(
    ("sizes", "parts"),
    [
        ([MOST_FRAME_BYTES // 4] * 3, [3]),
        ([MOST_FRAME_BYTES // 2] * 5, [1, 1, 1, 1, 1]),
        ([MOST_FRAME_BYTES // 3] * 5, [2, 2, 1]),
        ([10, 3 * MOST_FRAME_BYTES, 10, 10], [1, 1, 2]),
        ([3 * MOST_FRAME_BYTES], [1]),
    ],
)
@pytest.mark.parametrize("kind", [ChangeKind.APPENDED, ChangeKind.COMPACTED])
def test_a_large_change_is_split_into_parts_that_resume_before_it(kind: ChangeKind, sizes: list[int], parts: list[int]) -> None:
    compaction = _COMPACTION if kind is ChangeKind.COMPACTED else None
    change = Change(AT, kind, "acme", REF, 1, 2, log_version=9, compaction=compaction)
    events = [_event(chr(97 + index) * size) for index, size in enumerate(sizes)]
    outcome = _told(WATCH_ENCODER.change(change, events, BEFORE, 7))

    def content(part: pb.Change) -> tuple[Sequence[event_pb2.SessionEvent], bool]:
        if kind is ChangeKind.APPENDED:
            return part.batch.events, part.batch.continues
        assert part.compaction.compaction == compaction_to(_COMPACTION)
        return part.compaction.inserted, part.compaction.continues

    assert [len(content(part)[0]) for part in outcome] == parts
    assert [each for part in outcome for each in content(part)[0]] == [_published(each) for each in events]
    assert [content(part)[1] for part in outcome] == [True] * (len(parts) - 1) + [False]
    tokens = [ENCODER.read_token(SCOPE, part.resume_token) for part in outcome]
    assert tokens == [(BEFORE, 7, 0)] * (len(parts) - 1) + [(AT, 0, 0)]
    assert all(part.session == ref_to(REF) and part.versions.log_version == 9 for part in outcome)
    assert delivery_change(change, events) == _encoded(_expected(change, events))


@pytest.mark.parametrize("other", [{"scope": replace(SCOPE, user_id="ann")}, {"filter_bytes": b"x"}, {"store": "store-2"}])
def test_tokens_of_an_encoder_are_rejected_by_others(other: dict[str, Any]) -> None:
    token = ENCODER.token(SCOPE, BEGINNING)
    spoken = FeedEncoder(resume_tokens(other.get("store", "store-1")), other.get("filter_bytes", b""))
    assert spoken.token(other.get("scope", SCOPE), BEGINNING) != token
    assert FeedEncoder(resume_tokens("store-1"), b"").token(FeedScope("acme"), BEGINNING) == token


def test_a_deleted_session_is_encoded_with_its_name_and_labels() -> None:
    change = Change(AT, ChangeKind.DELETED, "acme", REF, 1, 2, labels={"k": "v"})
    session = pb.Change.FromString(delivery_change(change, [])).session_change.session
    assert (session.ref, dict(session.labels), session.HasField("create_time")) == (ref_to(REF), {"k": "v"}, False)
