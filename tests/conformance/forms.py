"""JSON forms of messages as cases write them: checked against the protos, with events in short written out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from threadkeep.v1.event_pb2 import SessionEvent

from .matching import matcher_of
from .messages import is_map, is_well_known, map_value
from .values import value_of

ROLES = ("user", "assistant", "system", "tool")
_SHORT = (*ROLES, "calls", "call_id")


def expanded(descriptor: Descriptor, form: Any, path: str = "") -> Any:
    """The form of a message, or of what is expected of one, in full. Raises ValueError, with the path, for what cannot be one.

    Matchers and values that are not resolved yet stay as they are.
    """
    if not isinstance(form, Mapping):
        if isinstance(form, str) and form.startswith("${"):
            return form
        raise ValueError(f"{path or 'the message'} must be a mapping, a {descriptor.name}, not {form!r}")
    if _stands(form):
        return form
    if descriptor.full_name == SessionEvent.DESCRIPTOR.full_name:
        form = event(form)
    return {key: _field(descriptor, key, value, f"{path}.{key}" if path else key) for key, value in form.items()}


def event(form: Mapping[str, Any]) -> Mapping[str, Any]:
    """The form of an event that may be written in short."""
    said = [role for role in ROLES if role in form]
    if not said:
        return form
    if len(said) > 1 or "message" in form:
        raise ValueError(f"an event has one of message, {', '.join(ROLES)}; this has {', '.join(form)}")
    rest = {key: value for key, value in form.items() if key not in _SHORT}
    return {**rest, "message": {"role": f"ROLE_{said[0].upper()}", "parts": _parts(said[0], form)}}


def events(forms: Any, path: str = "events") -> list[Any]:
    """The forms of a list of events, some of which may be lists of events."""
    if not isinstance(forms, list):
        raise ValueError(f"{path} must be a list of events, not {forms!r}")
    flat = [each for form in forms for each in (form if isinstance(form, list) else [form])]
    return [expanded(SessionEvent.DESCRIPTOR, each, f"{path}[{n}]") for n, each in enumerate(flat)]


def _parts(role: str, form: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    text = form[role]
    if role == "tool":
        call = {"call_id": form["call_id"]} if "call_id" in form else {}
        return [{"tool_result": {**call, "parts": [{"text": text}]}}]
    said = [] if text is None else [{"text": text}]
    return [*said, *({"tool_call": call} for call in form.get("calls", ()))]


def _stands(form: Any) -> bool:
    return isinstance(form, Mapping) and (matcher_of(form) or value_of(form)) is not None


def _field(descriptor: Descriptor, key: str, value: Any, path: str) -> Any:
    field = descriptor.fields_by_name.get(key)
    if field is None:
        known = ", ".join(each.name for each in descriptor.fields)
        raise ValueError(f"{path}: a {descriptor.name} has no field {key!r}; it has {known}")
    if is_map(field):
        return _map(field, value, path)
    return _repeated(field, value, path) if field.is_repeated else _value(field, value, path)


def _map(field: FieldDescriptor, value: Any, path: str) -> Any:
    inner = map_value(field)
    if _stands(value) or not isinstance(value, Mapping):
        return value
    return {key: each if _stands(each) else _value(inner, each, f"{path}.{key}") for key, each in value.items()}


def _repeated(field: FieldDescriptor, value: Any, path: str) -> Any:
    if isinstance(value, Mapping) and "$unordered" in value:
        return {"$unordered": _repeated(field, value["$unordered"], path)}
    if isinstance(value, Mapping) and "$contains" in value:
        return {"$contains": _value(field, value["$contains"], path)}
    if _stands(value) or (isinstance(value, str) and value.startswith("${")):
        return value
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ValueError(f"{path} must be a list, not {value!r}")
    return [_value(field, each, f"{path}[{n}]") for n, each in enumerate(value)]


def _value(field: FieldDescriptor, value: Any, path: str) -> Any:
    kind = field.message_type
    if kind is not None and not is_well_known(kind):
        return expanded(kind, value, path)
    if kind is not None and kind.full_name == "google.protobuf.FieldMask" and isinstance(value, str):
        return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), value)  # protobuf's JSON form has them in camel case
    if field.enum_type is not None:
        _check_enum(field.enum_type, value, path)
    return value


def _check_enum(enum: EnumDescriptor, value: Any, path: str) -> None:
    if isinstance(value, str) and not value.startswith("${") and value not in enum.values_by_name:
        raise ValueError(f"{path}: {value!r} is none of {', '.join(enum.values_by_name)}")
