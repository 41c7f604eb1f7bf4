"""Messages of the API in three forms: JSON form in cases, base64 on the way to drivers, plain values to compare."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from threadkeep.v1 import (
    compaction_service_pb2,
    consumer_service_pb2,
    event_service_pb2,
    memory_service_pb2,
    search_service_pb2,
    server_service_pb2,
    session_service_pb2,
    state_service_pb2,
    subscription_service_pb2,
    tool_service_pb2,
)

_FILES = (
    session_service_pb2,
    state_service_pb2,
    event_service_pb2,
    compaction_service_pb2,
    search_service_pb2,
    server_service_pb2,
    subscription_service_pb2,
    consumer_service_pb2,
    memory_service_pb2,
    tool_service_pb2,
)
M = TypeVar("M", bound=Message)
WELL_KNOWN = "google.protobuf."
"""What the full names of messages begin with whose JSON form is not a mapping of their fields."""


@dataclass(frozen=True)
class Rpc:
    """A method of the API. `name` is "EventService/GetEvent", `path` what is called on the wire."""

    name: str
    path: str
    request: type[Message]
    response: type[Message]
    streams: bool


def _rpcs() -> Iterator[Rpc]:
    for file in _FILES:
        services: Mapping[str, ServiceDescriptor] = file.DESCRIPTOR.services_by_name
        for service in services.values():
            for method in service.methods:
                yield _rpc(service, method)


def _rpc(service: ServiceDescriptor, method: MethodDescriptor) -> Rpc:
    return Rpc(
        f"{service.name}/{method.name}",
        f"/{service.full_name}/{method.name}",
        GetMessageClass(method.input_type),
        GetMessageClass(method.output_type),
        method.client_streaming or method.server_streaming,
    )


RPCS: Mapping[str, Rpc] = {rpc.name: rpc for rpc in _rpcs()}
BY_PATH: Mapping[str, Rpc] = {rpc.path: rpc for rpc in RPCS.values()}


def parse(kind: type[M], form: Any) -> M:
    """The message of a JSON form. Raises ValueError for what is not one."""
    try:
        return json_format.ParseDict(form, kind())
    except json_format.ParseError as error:
        raise ValueError(f"not a {kind.DESCRIPTOR.name}: {error}") from None


def to_wire(message: Message) -> str:
    return base64.b64encode(message.SerializeToString()).decode()


def from_wire(kind: type[M], text: str) -> M:
    return kind.FromString(base64.b64decode(text, validate=True))


class Fields(dict[str, Any]):
    """What is set in a message, by field name: integers as int, bytes as bytes, enums by name, or by number if it has none."""

    def __init__(self, message: Message) -> None:
        super().__init__({field.name: _plain_field(field, value) for field, value in message.ListFields()})
        self._known = message.DESCRIPTOR.fields_by_name

    def default(self, name: str) -> Any:
        """What a field that is not set reads as. Raises KeyError for one that has no such value."""
        field = self._known[name]
        if field.is_repeated or field.message_type is not None or field.enum_type is not None:
            raise KeyError(name)
        return field.default_value


def plain(message: Message) -> Fields:
    return Fields(message)


def _plain_field(field: FieldDescriptor, value: Any) -> Any:
    if is_map(field):
        inner = map_value(field)
        return {str(key): _plain_value(inner, each) for key, each in value.items()}
    return [_plain_value(field, each) for each in value] if field.is_repeated else _plain_value(field, value)


def _plain_value(field: FieldDescriptor, value: Any) -> Any:
    if field.message_type is not None:
        return json_format.MessageToDict(value) if is_well_known(field.message_type) else plain(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return known.name if known else value
    return value


def is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def map_value(field: FieldDescriptor) -> FieldDescriptor:
    """What the values of a map are."""
    assert field.message_type is not None
    return field.message_type.fields_by_name["value"]


def descriptor_of(kind: type[Message]) -> Descriptor:
    return cast("Descriptor", kind.DESCRIPTOR)  # its type also names the class that implements it


def is_well_known(descriptor: Descriptor) -> bool:
    return descriptor.full_name.startswith(WELL_KNOWN)
