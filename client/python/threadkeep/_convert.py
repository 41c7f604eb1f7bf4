"""Conversions from Python values to protobuf."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypedDict, TypeVar

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from ._arguments import refuse_unknown
from .v1.event_removal_pb2 import REMOVAL_MODE_ERASE, REMOVAL_MODE_UNSPECIFIED, RemovalMode
from .v1.event_service_pb2 import CreateIfMissing, GetContextRequest, ListEventsRequest, SortOrder
from .v1.session_pb2 import Session, SessionRef
from .v1.session_service_pb2 import Expiry
from .v1.state_pb2 import StateDelta, StatePatch

T = TypeVar("T")


class HasRef(Protocol):
    """A session handle, or another object with a `ref`."""

    @property
    def ref(self) -> SessionRef:
        """The session's reference."""


SessionLike = str | SessionRef | Session | HasRef
Json = Mapping[str, Any] | Sequence[Any] | str
Metadata = Mapping[str, Any] | str | None
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class CreateOptions(TypedDict, total=False):
    """How `append` creates a missing session: the arguments of `create_session` of the same names."""

    ttl: timedelta | None
    expire_time: datetime | int | None
    never_expires: bool
    metadata: Metadata
    labels: Mapping[str, str] | None
    state: Mapping[str, Any] | None


class PatchFields(TypedDict, total=False):
    """Changes to the values of a scope of state: the arguments of a state handle's `patch` of the same names."""

    set: Mapping[str, Any] | None
    remove: Iterable[str]
    set_json: Mapping[str, str] | None


def check(value: object, kind: type[T] | tuple[type[T], ...], argument: str) -> T:
    """Returns the value. Raises TypeError with the argument's name for another type; a bool is not a number."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise TypeError(f"{argument} must be {' or '.join(k.__name__ for k in kinds)}, not {type(value).__name__}")
    if isinstance(value, str):
        encodable(value, argument)
    return value


def mode_of(erase: bool) -> RemovalMode.ValueType:
    """What happens to the content of events that leave."""
    return REMOVAL_MODE_ERASE if erase else REMOVAL_MODE_UNSPECIFIED


def encodable(value: str, argument: str) -> str:
    """The text. Raises ValueError for a lone surrogate, which UTF-8 cannot represent."""
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{argument} contains a lone surrogate (U+{ord(value[error.start]):04X} at index {error.start}), which is not "
                'valid Unicode; replace it, for example with text.encode("utf-8", "replace").decode()'
            ) from None
    return value


def json_text(value: Json | None, argument: str) -> str:
    """JSON text: a str verbatim, empty for None, compact JSON for other values."""
    if value is None or isinstance(value, str):
        return encodable(value or "", argument)
    if not isinstance(value, Mapping | Sequence) or isinstance(value, bytes | bytearray):
        raise TypeError(f"{argument} must be a mapping, a sequence or JSON text, not {type(value).__name__}")
    return json_value(value, argument)


def json_value(value: Any, argument: str) -> str:
    """Compact JSON text of any value."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        text.encode()
    except UnicodeEncodeError:  # UTF-8 cannot represent a lone surrogate; an escape can
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except TypeError as error:
        raise TypeError(f"{argument} is not JSON: {error}") from None
    except ValueError as error:
        raise ValueError(f"{argument} is not JSON: {error}") from None
    return text


def timestamp(value: datetime | int | None, argument: str) -> Timestamp | None:
    """A timestamp from an aware datetime or from nanoseconds since the epoch, without rounding."""
    if value is None:
        return None
    check(value, (datetime, int), argument)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{argument} must have a time zone, for example datetime.now(UTC)")
        value = (value - _EPOCH) // timedelta(microseconds=1) * 1000
    seconds, nanos = divmod(value, 1_000_000_000)
    return Timestamp(seconds=seconds, nanos=nanos)


def expiry(
    ttl: timedelta | None = None, expire_time: datetime | int | None = None, never_expires: bool = False
) -> Expiry | None:
    """The expiry of a session; None without arguments. Raises ValueError for several."""
    if (ttl is not None) + (expire_time is not None) + never_expires > 1:
        raise ValueError("give at most one of ttl, expire_time and never_expires")
    if ttl is not None:
        duration = Duration()
        duration.FromTimedelta(check(ttl, timedelta, "ttl"))
        return Expiry(ttl=duration)
    if expire_time is not None:
        return Expiry(expire_time=timestamp(expire_time, "expire_time"))
    return Expiry(never_expires=True) if never_expires else None


def creation(options: CreateOptions | bool) -> CreateIfMissing | None:
    """How to create a missing session; True: with the defaults, False: not."""
    if isinstance(options, bool):
        return CreateIfMissing() if options else None
    refuse_unknown("create_if_missing", options, CreateOptions.__annotations__)
    return CreateIfMissing(
        expiry=expiry(options.get("ttl"), options.get("expire_time"), options.get("never_expires", False)),
        metadata_json=json_text(options.get("metadata"), "metadata"),
        labels=options.get("labels"),
        state=json_values(options.get("state"), "state"),
    )


def json_values(values: Mapping[str, Any] | None, argument: str) -> dict[str, str]:
    """JSON texts of values by key."""
    return {key: json_value(value, f"{argument}[{key!r}]") for key, value in (values or {}).items()}


def state_patch(values: Mapping[str, Any] | None, texts: Mapping[str, str] | None, remove: Iterable[str]) -> StatePatch:
    """A patch of state."""
    written = json_values(values, "set") | {
        key: encodable(check(text, str, "set_json"), key) for key, text in (texts or {}).items()
    }
    return StatePatch(set=written, remove=several(remove, "remove"))


def state_delta(session: PatchFields | None, user: PatchFields | None, app: PatchFields | None) -> StateDelta | None:
    """The changes of state in an append."""
    if session is None and user is None and app is None:
        return None
    return StateDelta(session=patch_of(session, "state"), user=patch_of(user, "user_state"), app=patch_of(app, "app_state"))


def patch_of(patch: PatchFields | None, argument: str) -> StatePatch | None:
    """A patch of state in an append."""
    if patch is None:
        return None
    refuse_unknown(argument, patch, PatchFields.__annotations__)
    return state_patch(patch.get("set"), patch.get("set_json"), patch.get("remove", ()))


def several(values: Iterable[str], argument: str) -> list[str]:
    """The texts. Raises TypeError for a single one."""
    if isinstance(values, str):
        raise TypeError(f"{argument} must be several texts, not str")
    return [encodable(check(value, str, argument), argument) for value in values]


def session_ref(session: SessionLike, app: str, user_id: str) -> SessionRef:
    """The reference of a session argument. `app` and `user_id` complete an id only."""
    if isinstance(session, SessionRef):
        return session
    if isinstance(session, str):
        return SessionRef(app=app, user_id=user_id, session_id=encodable(session, "session"))
    if isinstance(ref := getattr(session, "ref", None), SessionRef):
        return ref
    raise TypeError(f"session must be str, SessionRef, Session or a handle, not {type(session).__name__}")


def user_of(user_id: str | None, default: str, any_user: bool) -> str:
    """The user of a request: the argument, else the client's; "" is every user."""
    if any_user and user_id:
        raise ValueError("give either user_id or any_user=True")
    return "" if any_user else encodable(user_id or default, "user_id")


def app_of(app: str | None, default: str, any_app: bool) -> str | None:
    """The app of a request: the argument, where "" is none, else the client's; None is every app."""
    if any_app and app is not None:
        raise ValueError("give either app or any_app=True")
    if app is None:
        return None if any_app else default or None
    return encodable(app, "app")


def enum_value(names: Mapping[str, int], prefix: str, value: int | str, argument: str) -> Any:
    """An enum's number from its number or from its short name in any case, for example "user" for ROLE_USER."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    name = prefix + check(value, str, argument).upper()
    if name not in names:
        known = ", ".join(n.removeprefix(prefix).lower() for n in names)
        raise ValueError(f"{argument} must be one of {known}, not {value!r}")
    return names[name]


def set_as_of(request: ListEventsRequest | GetContextRequest, seq: int | None, log_version: int | None) -> None:
    """Sets the moment that a request reads as of; None: now."""
    if seq is not None and log_version is not None:
        raise ValueError("give at most one of as_of_seq and as_of_log_version")
    if seq is not None:
        request.as_of_seq = seq
    if log_version is not None:
        request.as_of_log_version = log_version


def sort_order(value: SortOrder.ValueType | str) -> SortOrder.ValueType:
    """An order by its number or its name; "asc" and "desc" are short forms."""
    short = {"asc": "ascending", "desc": "descending"}
    name = short.get(value.lower(), value) if isinstance(value, str) else value
    order: SortOrder.ValueType = enum_value(dict(SortOrder.items()), "SORT_ORDER_", name, "order")
    return order


def point_of(at_seq: int | None, at_event: str | None, at_invocation: str | None, at_log_version: int | None) -> dict[str, Any]:
    """The fields of a point in the history of a session; none without one."""
    points: dict[str, Any] = {
        "at_seq": at_seq,
        "at_event_id": None if at_event is None else encodable(at_event, "at_event"),
        "at_invocation_id": None if at_invocation is None else encodable(at_invocation, "at_invocation"),
        "at_log_version": at_log_version,
    }
    given = {name: value for name, value in points.items() if value is not None}
    if len(given) > 1:
        raise ValueError("give one of at_seq, at_event, at_invocation and at_log_version")
    return given
