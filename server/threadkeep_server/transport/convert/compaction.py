"""Conversion for compaction: plans, records, requests of callers, and policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from threadkeep.v1 import compaction_pb2, compaction_service_pb2, event_pb2

from ...domain import validation
from ...domain.errors import BatchTooLarge, EventIdConflict, EventTooLarge, InvalidField
from ...domain.model import Compaction, EventDraft
from ...service.compaction.prepared import Prepared
from ...service.compaction.requests import Application, Replacement
from ...store.contract.compaction import PolicyKey, PolicyScope
from .events import DraftMaker, drafts_of
from .sessions import counters_to, ref_of, ref_to, set_time, usage_to

# The most ids in one request; a larger window is compacted by strategies or by through_seq.
_MAX_NAMED = 100_000


def plan_to(prepared: Prepared, branch: str) -> compaction_pb2.CompactionPlan:
    plan = prepared.plan
    result = compaction_pb2.CompactionPlan(
        archive_event_ids=plan.archive,
        inserts=[_insert_to(before, drafts) for before, drafts in prepared.inserts.items()],
        strategy=plan.strategy,
        branch=branch,
        before=counters_to(prepared.session.window),
        after=counters_to(prepared.after),
    )
    if plan.summary is not None:
        result.summary_prompt.system_prompt = plan.summary.system_prompt
        result.summary_prompt.prompt = plan.summary.prompt
        result.summary_prompt.max_tokens = plan.summary.max_tokens
        result.summary_prompt.digest = plan.summary.digest
    return result


def _insert_to(before: str | None, drafts: Sequence[EventDraft]) -> compaction_pb2.CompactionInsert:
    events = [event_pb2.SessionEvent.FromString(draft.body) for draft in drafts]
    return compaction_pb2.CompactionInsert(before_event_id=before or "", events=events)


def compaction_to(compaction: Compaction) -> compaction_pb2.Compaction:
    result = compaction_pb2.Compaction(
        compaction_id=compaction.compaction_id,
        strategy=compaction.strategy,
        actor=compaction.actor,
        branch=compaction.branch,
        archived_events=compaction.archived,
        first_seq=compaction.first_seq,
        last_seq=compaction.last_seq,
        inserted_event_ids=compaction.inserted,
        before=counters_to(compaction.before),
        after=counters_to(compaction.after),
        log_version=compaction.log_version,
        window_version=compaction.window_version,
        usage=usage_to(compaction.usage),
    )
    set_time(result.create_time, compaction.time)
    return result


def application_of(
    request: compaction_service_pb2.ApplyCompactionRequest, limits: validation.Limits, make_draft: DraftMaker
) -> Application:
    kind = _check_archive(request)
    return Application(
        ref=ref_of(request.session),
        expected_window_version=request.expected_window_version,
        expected_log_version=request.expected_log_version if request.HasField("expected_log_version") else None,
        compaction_id=validation.identifier("compaction_id", request.compaction_id),
        archive=_ids("event_ids.ids", request.event_ids.ids),
        through_seq=request.through_seq if kind == "through_seq" else None,
        from_seq=request.from_seq,
        inserts=_inserts(request, limits, make_draft),
        places=_places(request),
        branch=validation.branch("branch", request.branch),
        strategy=validation.identifier("strategy", request.strategy) or "custom",
        actor=validation.identifier("actor", request.actor),
        dry_run=request.dry_run,
    )


def plan_of(
    plan: compaction_pb2.CompactionPlan, branch: str, limits: validation.Limits, make_draft: DraftMaker
) -> tuple[Sequence[str], dict[str | None, list[EventDraft]]]:
    """Returns the events to archive and to insert of a plan that was made elsewhere. Raises InvalidField, BatchTooLarge,
    EventTooLarge."""
    request = compaction_service_pb2.ApplyCompactionRequest(inserts=plan.inserts, branch=branch)
    return _ids("archive_event_ids", plan.archive_event_ids), _inserts(request, limits, make_draft)


def _check_archive(request: compaction_service_pb2.ApplyCompactionRequest) -> str | None:
    """Validates which events to archive. Returns the field of the oneof."""
    kind = request.WhichOneof("archive")
    if kind is None and not request.inserts:
        raise InvalidField("archive", "is required where nothing is inserted: event_ids or through_seq")
    if kind == "event_ids" and not request.event_ids.ids:
        raise InvalidField("event_ids.ids", "must name at least one event; leave event_ids out to insert alone")
    if kind == "through_seq" and request.through_seq < 1:
        raise InvalidField("through_seq", "must be at least 1")
    if request.from_seq < 0:
        raise InvalidField("from_seq", "must not be negative")
    if request.from_seq and kind != "through_seq":
        raise InvalidField("from_seq", "goes with through_seq only")
    if request.from_seq and request.from_seq > request.through_seq:
        raise InvalidField("from_seq", "must not be greater than through_seq")
    return kind


def _ids(field: str, ids: Sequence[str]) -> Sequence[str]:
    validation.count(field, ids, _MAX_NAMED)
    seen: set[str] = set()
    for i, each in enumerate(ids):
        validation.identifier(f"{field}[{i}]", each, required=True)
        if each in seen:
            raise InvalidField(f"{field}[{i}]", "occurs twice")
        seen.add(each)
    return ids


def _places(request: compaction_service_pb2.ApplyCompactionRequest) -> dict[str, str]:
    """Returns the field that names each event of an insert; for several inserts before one event, the first."""
    named = ((insert.before_event_id, f"inserts[{i}].before_event_id") for i, insert in enumerate(request.inserts))
    return dict(reversed([*named]))


def _inserts(
    request: compaction_service_pb2.ApplyCompactionRequest, limits: validation.Limits, make_draft: DraftMaker
) -> dict[str | None, list[EventDraft]]:
    """Returns the inserted events by the event that they precede, in request order."""
    if len(request.inserts) > limits.max_batch_events:
        raise BatchTooLarge("inserts", len(request.inserts), limits.max_batch_events, "inserts")
    placed: dict[str | None, list[EventDraft]] = {}
    seen: set[str] = set()
    _check_size("inserts", [event for insert in request.inserts for event in insert.events], limits)
    for i, insert in enumerate(request.inserts):
        if not insert.events:
            raise InvalidField(f"inserts[{i}].events", "must not be empty")
        before = validation.identifier(f"inserts[{i}].before_event_id", insert.before_event_id) or None
        for j, event in enumerate(insert.events):
            _check_synthetic(f"inserts[{i}].events[{j}]", event, request.branch)
        placed.setdefault(before, []).extend(_drafts(f"inserts[{i}].", insert.events, limits, make_draft, seen))
    return placed


def _check_synthetic(field: str, event: event_pb2.SessionEvent, branch: str) -> None:
    if not event.synthetic:
        raise InvalidField(f"{field}.synthetic", "must be true; use AppendEvents for other events")
    if not event.compaction_source:
        raise InvalidField(f"{field}.compaction_source", "is required")
    if branch and event.branch != branch:
        raise InvalidField(f"{field}.branch", "must be the branch that the compaction is restricted to")


def _drafts(
    prefix: str, events: Sequence[event_pb2.SessionEvent], limits: validation.Limits, make_draft: DraftMaker, seen: set[str]
) -> list[EventDraft]:
    try:
        drafts = drafts_of(events, limits, make_draft)
    except InvalidField as error:
        raise InvalidField(f"{prefix}{error.metadata['field']}", error.metadata["problem"]) from None
    except EventTooLarge as error:
        size, limit = int(error.metadata["size"]), int(error.metadata["limit"])
        raise EventTooLarge(f"{prefix}{error.metadata['field']}", size, limit) from None
    for index, draft in enumerate(drafts):
        if draft.event_id in seen:
            raise InvalidField(f"{prefix}events[{index}].event_id", "occurs twice")
        seen.add(draft.event_id)
    return drafts


def _check_size(field: str, events: Sequence[event_pb2.SessionEvent], limits: validation.Limits) -> None:
    """Applies the limits of an append to the inserted events."""
    if len(events) > limits.max_batch_events:
        raise BatchTooLarge(field, len(events), limits.max_batch_events, "events")
    size = sum(event.ByteSize() for event in events)
    if size > limits.max_batch_bytes:
        raise BatchTooLarge(field, size, limits.max_batch_bytes, "bytes")


@contextmanager
def conflicts_named(
    request: compaction_service_pb2.ApplyCompactionRequest | compaction_service_pb2.ReplaceEventsRequest,
) -> Iterator[None]:
    """Adds the field of the request to EventIdConflict, which the store raises without it."""
    try:
        yield
    except EventIdConflict as error:
        event_id = error.metadata["event_id"]
        if isinstance(request, compaction_service_pb2.ReplaceEventsRequest):
            places = ((f"events[{i}]", event) for i, event in enumerate(request.events))
        else:
            places = (
                (f"inserts[{i}].events[{j}]", event)
                for i, insert in enumerate(request.inserts)
                for j, event in enumerate(insert.events)
            )
        at = next(place for place, event in places if event.event_id == event_id)
        raise EventIdConflict(f"{at}.event_id", event_id, int(error.metadata["seq"])) from None


def replacement_of(
    request: compaction_service_pb2.ReplaceEventsRequest, limits: validation.Limits, make_draft: DraftMaker
) -> Replacement:
    _check_size("events", request.events, limits)
    return Replacement(
        ref=ref_of(request.session),
        drafts=_drafts("", request.events, limits, make_draft, set()),
        expected_log_version=request.expected_log_version,
        strategy=validation.identifier("strategy", request.strategy) or "replace_events",
        actor=validation.identifier("actor", request.actor),
        dry_run=request.dry_run,
    )


# --- policies


def key_of(scope: compaction_service_pb2.PolicyScope) -> PolicyKey:
    """Returns the key without its tenant."""
    kind = scope.WhichOneof("kind")
    if kind == "session":
        try:
            return PolicyKey("", PolicyScope.SESSION, *ref_of(scope.session))
        except InvalidField as error:
            raise InvalidField(f"scope.{error.metadata['field']}", error.metadata["problem"]) from None
    if kind == "user":
        user_id = validation.identifier("scope.user.user_id", scope.user.user_id)
        if scope.user.HasField("app"):
            app = validation.identifier("scope.user.app", scope.user.app)
            return PolicyKey("", PolicyScope.USER_OF_APP, app, user_id)
        return PolicyKey("", PolicyScope.USER, "", user_id)
    if kind == "app":
        return PolicyKey("", PolicyScope.APP, validation.identifier("scope.app", scope.app, required=True))
    if kind == "server":
        if not scope.server:
            raise InvalidField("scope.server", "must be true")
        return PolicyKey("", PolicyScope.SERVER)
    raise InvalidField("scope", "is required: session, user, app or server")


def scope_to(key: PolicyKey | None) -> compaction_service_pb2.PolicyScope:
    """Returns the scope of a key; None is the configuration of the server."""
    scope = compaction_service_pb2.PolicyScope()
    if key is None:
        scope.server = False
    elif key.scope is PolicyScope.SESSION:
        scope.session.CopyFrom(ref_to(key.ref))
    elif key.scope is PolicyScope.USER_OF_APP:
        scope.user.user_id, scope.user.app = key.user_id, key.app
    elif key.scope is PolicyScope.USER:
        scope.user.user_id = key.user_id
    elif key.scope is PolicyScope.APP:
        scope.app = key.app
    else:
        scope.server = True
    return scope
