"""The RPCs of a servicer, read from the descriptor of its service, so that gRPC and HTTP serve the same methods.

A servicer method takes `(request, caller)` and returns the response message, or its encoding as bytes if it contains stored
bytes. It raises domain errors and does not depend on gRPC or HTTP.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

from google.protobuf.descriptor import Descriptor, MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from threadkeep.v1 import access_pb2, message_pb2

from ..domain.errors import InvalidField
from ..domain.validation import MAX_REQUEST_FIELDS
from .wire.field_count import Layout, check_fields, layout_of, may_hold
from .wire.json_codec import from_json

PLAIN_BYTES = 4 << 20
"""Size of the largest request of an RPC that takes no messages of conversations, in bytes, uncompressed. The limit of the
others follows from the largest batch."""

MESSAGE_SLACK = 4 << 20
"""Bytes that gRPC admits above the largest append, so that the service rejects a batch that is too large, with its field and
limit."""

_FREELY_DECOMPRESSED = 1 << 20
_MOST_RATIO = 100

# Any: the request's class differs by method and is fixed by the descriptor.
Handler = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Method:
    """One RPC. A stream of requests is passed as an async iterator. A stream of responses is an async generator; the transport
    closes it as soon as the client stops reading."""

    service: str
    name: str
    request_type: type[Message]
    response_type: type[Message]
    client_streaming: bool
    server_streaming: bool
    idempotent: bool
    read_only: bool
    takes_messages: bool
    """Whether a request may contain messages of conversations, such as events and memories."""
    layout: Layout
    most_fields: int
    role: str
    """The role that the caller needs."""
    call: Handler

    @property
    def path(self) -> str:
        return f"/{self.service}/{self.name}"

    @property
    def streaming(self) -> bool:
        return self.client_streaming or self.server_streaming

    def most_bytes(self, largest: int) -> int:
        """Returns the size of the largest request, uncompressed. `largest`: that of a batch."""
        return largest if self.takes_messages else min(largest, PLAIN_BYTES)

    @property
    def counted(self) -> bool:
        """Whether it is a call in flight. Subscriptions are not: they have limits of their own."""
        return self.client_streaming or not self.server_streaming

    def parse(self, raw: bytes) -> Message:
        """Returns the request. Its cost is bounded before it is decoded. Raises InvalidField."""
        if not self.takes_messages and len(raw) > PLAIN_BYTES:
            raise too_large(PLAIN_BYTES)
        try:
            if may_hold(raw, self.layout, self.most_fields):
                check_fields(raw, self.layout, self.most_fields)
            return self.request_type.FromString(raw)
        except (DecodeError, UnicodeDecodeError):
            name = self.request_type.DESCRIPTOR.full_name
            raise InvalidField("request", f"is not a valid {name}: invalid encoding, or a string that is not UTF-8") from None

    def parse_json(self, raw: bytes) -> Message:
        """Like `parse`, for JSON."""
        return from_json(raw, self.request_type, self.most_fields)


@dataclass(frozen=True, slots=True)
class Service:
    """A proto service and its servicer. `role`: the role that its methods need, if their options do not name it.
    `around` returns the handler of a method in place of the servicer's."""

    descriptor: ServiceDescriptor
    servicer: object
    around: tuple[Callable[[Method], Method], ...] = ()
    """Applied to each method in turn, for what all front ends do around calls."""
    most_fields: int = MAX_REQUEST_FIELDS
    """See Limits.max_request_fields."""
    role: str = ""

    def methods(self) -> list[Method]:
        return [reduce(lambda method, wrap: wrap(method), self.around, self._method(each)) for each in self.descriptor.methods]

    def _method(self, descriptor: MethodDescriptor) -> Method:
        options = descriptor.GetOptions()
        read_only = options.idempotency_level == options.NO_SIDE_EFFECTS
        return Method(
            service=self.descriptor.full_name,
            name=descriptor.name,
            request_type=GetMessageClass(descriptor.input_type),
            response_type=GetMessageClass(descriptor.output_type),
            client_streaming=bool(descriptor.client_streaming),
            server_streaming=bool(descriptor.server_streaming),
            idempotent=read_only or options.idempotency_level == options.IDEMPOTENT,
            read_only=read_only,
            takes_messages=_reaches(descriptor.input_type, message_pb2.ChatMessage.DESCRIPTOR),
            layout=layout_of(descriptor.input_type),
            most_fields=self.most_fields,
            role=self.role or required_role(descriptor),
            call=getattr(self.servicer, descriptor.name),
        )


@cache
def _reaches(start: Descriptor, wanted: Descriptor) -> bool:
    """Reports whether a message contains another type, at any depth."""
    seen = {start.full_name: start}
    left = [start]
    while left:
        for field in left.pop().fields:
            kind = field.message_type
            if kind is not None and kind.full_name not in seen:
                seen[kind.full_name] = kind
                left.append(kind)
    return wanted.full_name in seen


def most_decompressed(compressed: int, most: int) -> int:
    """Returns the limit on what so many bytes decompress to: `most`, and beyond 1 MiB a hundred times their number. Text and
    JSON of conversations shrink to between a fifth and a twentieth."""
    return min(most, max(_FREELY_DECOMPRESSED, _MOST_RATIO * compressed))


def too_large(limit: int, most: int | None = None) -> InvalidField:
    """Returns the error of a request that exceeds the limit. `most`: the limit of the RPC, if compression sets a lower one."""
    if most is not None and limit < most:
        return InvalidField("request", f"must not decompress to more than {_MOST_RATIO} times its size; send it uncompressed")
    return InvalidField("request", f"must have at most {limit} bytes, uncompressed; send less in one request")


def required_role(descriptor: MethodDescriptor) -> str:
    """Returns the role of the method's option. Raises ValueError without one, because such a method would be open."""
    number = descriptor.GetOptions().Extensions[access_pb2.required_role]
    if number == access_pb2.ACCESS_ROLE_UNSPECIFIED:
        raise ValueError(f"{descriptor.full_name} has no required_role")
    return access_pb2.AccessRole.Name(number).removeprefix("ACCESS_ROLE_").lower()


def encode(response: Message | bytes) -> bytes:
    """Returns the encoded response."""
    return response if isinstance(response, bytes) else response.SerializeToString()
