"""Conversion of sessions and filters; `events` converts appended events."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from threadkeep.v1 import filter_pb2, session_pb2, session_service_pb2

from ...domain import validation
from ...domain.errors import InvalidField
from ...domain.filters import Authors, AuthorStep, EventFilter
from ...domain.model import ROLES, SECOND_NS, Counters, Parent, Role, Session, SessionRef, Usage
from ...domain.updates.session_updates import etag_of
from ...search import patterns
from ...service.sessions import Expiry, Origin, SessionDraft, SessionPatch

_MIN_NS, _MAX_NS = -(1 << 63), (1 << 63) - 1
_MAX_CACHED_BYTES = 256
_VIEWS = frozenset(filter_pb2.LogView.values())
_BRANCH_MATCHES = frozenset(filter_pb2.BranchMatch.values())
_KEYWORD_MATCHES = frozenset(filter_pb2.KeywordMatch.values())
# The longest span that fits into 64 bits of nanoseconds.
_MAX_TTL_S = 200 * 365 * 86_400


def time_of(field: str, value: Timestamp) -> int:
    """Returns nanoseconds since the epoch."""
    if not 0 <= value.nanos < SECOND_NS:
        raise InvalidField(f"{field}.nanos", "must be between 0 and 999,999,999")
    total = value.seconds * SECOND_NS + value.nanos
    if not _MIN_NS <= total <= _MAX_NS:
        raise InvalidField(field, "must be between 1677-09-22 and 2262-04-11")
    return total


def set_time(target: Timestamp, value: int) -> None:
    target.seconds, target.nanos = divmod(value, SECOND_NS)


def ref_of(ref: session_pb2.SessionRef, *, creating: bool = False) -> SessionRef:
    app, user_id, session_id = ref.app, ref.user_id, ref.session_id
    validation.identifier("session.session_id", session_id, required=not creating)
    validation.identifier("session.app", app)
    validation.identifier("session.user_id", user_id, required=False)
    if user_id and not user_id.strip():
        raise InvalidField("session.user_id", "must not be blank")
    return SessionRef(app, user_id, session_id)


def ref_to(ref: SessionRef) -> session_pb2.SessionRef:
    return session_pb2.SessionRef(app=ref.app, user_id=ref.user_id, session_id=ref.session_id)


def expiry_of(expiry: session_service_pb2.Expiry, field: str = "expiry") -> Expiry:
    kind = expiry.WhichOneof("kind")
    if kind == "ttl":
        return Expiry(ttl=ttl_of(f"{field}.ttl", expiry.ttl))
    if kind == "expire_time":
        return Expiry(expire_time=time_of(f"{field}.expire_time", expiry.expire_time))
    if kind == "never_expires" and not expiry.never_expires:
        raise InvalidField(f"{field}.never_expires", "must be true; leave expiry out for the default")
    return Expiry(never=kind == "never_expires")


def ttl_of(field: str, value: Duration, otherwise: str = "use never_expires") -> int:
    """`otherwise`: what sets no limit."""
    total = value.seconds * SECOND_NS + value.nanos
    if total <= 0:
        raise InvalidField(field, "must be positive")
    if value.seconds > _MAX_TTL_S:
        raise InvalidField(field, f"must be at most 200 years; {otherwise}")
    return total


def session_draft(
    request: session_service_pb2.CreateSessionRequest | session_service_pb2.UpdateSessionRequest,
) -> SessionDraft:
    create_time = origin = None
    if isinstance(request, session_service_pb2.CreateSessionRequest):
        create_time = time_of("create_time", request.create_time) if request.HasField("create_time") else None
        origin = _origin_of(request.parent) if request.HasField("parent") else None
    return SessionDraft(
        create_time=create_time,
        expiry=expiry_of(request.expiry),
        metadata_json=validation.json_object("metadata_json", request.metadata_json),
        labels=validation.labels("labels", request.labels),
        context_bytes=_context_bytes(request.context_bytes),
        origin=origin,
    )


def _origin_of(parent: session_pb2.SessionParent) -> Origin:
    named = parent.session
    session_id = validation.identifier("parent.session.session_id", named.session_id, required=True)
    uid = validation.identifier("parent.uid", parent.uid, required=True)
    for name in ("at_seq", "at_log_version"):
        if getattr(parent, name) < 0:
            raise InvalidField(f"parent.{name}", "must not be negative")
    ref = SessionRef(named.app, named.user_id, session_id)
    return Origin(ref, Parent(session_id, uid, parent.at_seq, parent.at_log_version))


def session_patch(request: session_service_pb2.UpdateSessionRequest) -> SessionPatch:
    validation.count("remove_labels", request.remove_labels, validation.MAX_LABELS)
    removed = [validation.identifier(f"remove_labels[{i}]", key, required=True) for i, key in enumerate(request.remove_labels)]
    patch = SessionPatch(
        validation.json_object("metadata_patch_json", request.metadata_patch_json),
        validation.labels("set_labels", request.set_labels),
        frozenset(removed),
        validation.identifier("etag", request.etag),
    )
    for part, whole in (("metadata_patch_json", "metadata_json"), ("set_labels", "labels"), ("remove_labels", "labels")):
        if getattr(patch, part) and whole in request.update_mask.paths:
            raise InvalidField(part, f"and {whole} in update_mask are mutually exclusive")
    return patch


def _context_bytes(value: int) -> int:
    if value < 0:
        raise InvalidField("context_bytes", "must not be negative")
    return value


def session_to(session: Session) -> session_pb2.Session:
    result = session_pb2.Session(
        ref=ref_to(session.ref),
        uid=session.uid,
        metadata_json=session.metadata_json,
        labels=session.labels,
        log_version=session.log_version,
        window_version=session.window_version,
        last_seq=session.last_seq,
        window=counters_to(session.window),
        usage=usage_to(session.usage),
        context_bytes=session.context_bytes,
        content_bytes=session.content_bytes,
        etag=etag_of(session),
    )
    set_time(result.create_time, session.create_time)
    set_time(result.update_time, session.update_time)
    if session.expire_time is not None:
        set_time(result.expire_time, session.expire_time)
    if (parent := session.parent) is not None:
        # The owner of the parent is the first one of the fork, whom a later one need not know.
        owner = "" if session.moved else session.ref.user_id
        result.parent.session.CopyFrom(ref_to(SessionRef(session.ref.app, owner, parent.session_id)))
        result.parent.at_seq, result.parent.at_log_version, result.parent.uid = parent.seq, parent.log_version, parent.uid
    return result


def counters_to(window: Counters) -> session_pb2.WindowCounters:
    return session_pb2.WindowCounters(events=window.events, turns=window.turns, bytes=window.bytes, tokens=window.tokens)


def usage_to(usage: Usage) -> session_pb2.TokenUsage:
    return session_pb2.TokenUsage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        total_tokens=usage.total,
        cached_tokens=usage.cached,
        reasoning_tokens=usage.reasoning,
    )


def read_filter(stored: bytes) -> EventFilter:
    """Decodes a stored filter. The numbers of its values are not checked again: an older server admitted more."""
    return _filter_of(filter_pb2.EventFilter.FromString(stored))


def filter_of(wanted: filter_pb2.EventFilter) -> EventFilter:
    """Returns the validated filter. Raises InvalidField with `filter.<field>`. Cached: agents repeat the same filters."""
    validation.count("filter.roles", wanted.roles, validation.MAX_CHOICES)
    validation.count("filter.keywords", wanted.keywords, validation.MAX_TERMS)
    validation.count("filter.invocation_ids", wanted.invocation_ids, validation.MAX_INVOCATIONS)
    validation.count("filter.native_formats", wanted.native_formats, validation.MAX_CHOICES)
    check_author_filters("filter.author_filters", wanted.author_filters)
    if wanted.pattern:  # not kept here with all that it computes: see search.patterns
        return _filter_of(wanted)
    raw = wanted.SerializeToString(deterministic=True)
    return _cached_filter(raw) if len(raw) <= _MAX_CACHED_BYTES else _filter_of(wanted)


_cached_filter = lru_cache(maxsize=1024)(read_filter)


def _filter_of(wanted: filter_pb2.EventFilter) -> EventFilter:
    keywords = [validation.term(f"filter.keywords[{i}]", term) for i, term in enumerate(wanted.keywords)]
    window = wanted.WhichOneof("limit")
    return EventFilter(
        from_time=time_of("filter.from_time", wanted.from_time) if wanted.HasField("from_time") else None,
        to_time=time_of("filter.to_time", wanted.to_time) if wanted.HasField("to_time") else None,
        after_seq=wanted.after_seq if wanted.HasField("after_seq") else None,
        before_seq=wanted.before_seq if wanted.HasField("before_seq") else None,
        roles=frozenset(role_of(f"filter.roles[{i}]", role) for i, role in enumerate(wanted.roles)),
        authors=author_steps("filter.author_filters", wanted.author_filters),
        exclude_synthetic=wanted.exclude_synthetic,
        exclude_archived=_active_only(wanted.view),
        keyword=validation.term("filter.keyword", wanted.keyword),
        keywords=tuple(keywords),
        match_all=_match_all(wanted.keyword_match),
        branch=validation.branch("filter.branch", wanted.branch),
        exact_branch=_exact_branch(wanted.branch_match),
        invocation_ids=frozenset(_names("filter.invocation_ids", wanted.invocation_ids)),
        native_formats=frozenset(_names("filter.native_formats", wanted.native_formats)),
        metadata=tuple(sorted(validation.metadata("filter.metadata", wanted.metadata).items())),
        pattern=patterns.compiled("filter.pattern", wanted.pattern) if wanted.pattern else None,
        last_n=wanted.last_n if window == "last_n" else None,
        exact_last_n=wanted.exact_last_n if window == "exact_last_n" else None,
        page=wanted.page.page if window == "page" else None,
        page_size=wanted.page.page_size if window == "page" else None,
    )


def _names(field: str, values: Sequence[str]) -> list[str]:
    return [validation.identifier(f"{field}[{i}]", value, required=True) for i, value in enumerate(values)]


def role_of(field: str, value: int) -> Role:
    role = ROLES.get(value)
    if role is None:
        raise InvalidField(field, "must be ROLE_USER, ROLE_ASSISTANT, ROLE_SYSTEM or ROLE_TOOL")
    return role


def check_author_filters(field: str, steps: Sequence[filter_pb2.AuthorFilter]) -> None:
    """Checks the numbers of steps and of authors. Raises InvalidField."""
    validation.count(field, steps, validation.MAX_AUTHOR_FILTERS)
    left = validation.MAX_AUTHORS
    for i, step in enumerate(steps):
        authors = step.exclude if step.HasField("exclude") else step.include
        for name, values in (("ids", authors.ids), ("roles", authors.roles)):
            left -= len(values)
            if left < 0:
                raise InvalidField(
                    f"{field}[{i}].{step.WhichOneof('kind')}.{name}",
                    f"must have at most {validation.MAX_AUTHORS:,} entries, together with the other ids and roles of {field}",
                )


def author_steps(field: str, steps: Sequence[filter_pb2.AuthorFilter]) -> tuple[AuthorStep, ...]:
    """Returns the chain. Raises InvalidField."""
    return tuple(_author_step(f"{field}[{i}]", step) for i, step in enumerate(steps))


def _author_step(field: str, step: filter_pb2.AuthorFilter) -> AuthorStep:
    kind = step.WhichOneof("kind")
    if kind is None:
        raise InvalidField(field, "must be include or exclude")
    authors = step.include if kind == "include" else step.exclude
    ids = frozenset(validation.identifier(f"{field}.{kind}.ids", id_, required=True) for id_ in authors.ids)
    roles = frozenset(validation.identifier(f"{field}.{kind}.roles", role, required=True) for role in authors.roles)
    if not ids and not roles:
        raise InvalidField(f"{field}.{kind}", "must name at least one id or role")
    return AuthorStep(kind == "include", Authors(ids, roles))


def _active_only(view: int) -> bool:
    if view not in _VIEWS:
        raise InvalidField("filter.view", "must be LOG_VIEW_ACTIVE or LOG_VIEW_HISTORY")
    return view == filter_pb2.LOG_VIEW_ACTIVE


def _exact_branch(mode: int) -> bool:
    if mode not in _BRANCH_MATCHES:
        raise InvalidField("filter.branch_match", "must be BRANCH_MATCH_VISIBLE or BRANCH_MATCH_EXACT")
    return mode == filter_pb2.BRANCH_MATCH_EXACT


def _match_all(mode: int) -> bool:
    if mode not in _KEYWORD_MATCHES:
        raise InvalidField("filter.keyword_match", "must be KEYWORD_MATCH_ANY or KEYWORD_MATCH_ALL")
    return mode == filter_pb2.KEYWORD_MATCH_ALL
