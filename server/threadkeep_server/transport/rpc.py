"""The RPCs of a servicer, read from the descriptor of its service, so that gRPC and HTTP serve the same methods.

A servicer method takes `(request, caller)` and returns the response message, or its encoding as bytes if it contains stored
bytes. It raises domain errors and does not depend on gRPC or HTTP.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from threadkeep.v1 import access_pb2

from ..domain.errors import InvalidField

MESSAGE_SLACK = 4 << 20
"""Bytes that gRPC admits above the largest append, so that the service rejects a batch that is too large, with its field and
limit."""

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
    role: str
    """The role that the caller needs."""
    call: Handler

    @property
    def path(self) -> str:
        return f"/{self.service}/{self.name}"

    @property
    def streaming(self) -> bool:
        return self.client_streaming or self.server_streaming

    def parse(self, raw: bytes) -> Message:
        """Returns the request. Raises InvalidField."""
        try:
            return self.request_type.FromString(raw)
        except (DecodeError, UnicodeDecodeError):
            name = self.request_type.DESCRIPTOR.full_name
            raise InvalidField("request", f"is not a valid {name}: invalid encoding, or a string that is not UTF-8") from None


@dataclass(frozen=True, slots=True)
class Service:
    """A proto service and its servicer. `role`: the role that its methods need, if their options do not name it."""

    descriptor: ServiceDescriptor
    servicer: object
    role: str = ""

    def methods(self) -> list[Method]:
        return [self._method(descriptor) for descriptor in self.descriptor.methods]

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
            role=self.role or required_role(descriptor),
            call=getattr(self.servicer, descriptor.name),
        )


def required_role(descriptor: MethodDescriptor) -> str:
    """Returns the role of the method's option. Raises ValueError without one, because such a method would be open."""
    number = descriptor.GetOptions().Extensions[access_pb2.required_role]
    if number == access_pb2.ACCESS_ROLE_UNSPECIFIED:
        raise ValueError(f"{descriptor.full_name} has no required_role")
    return access_pb2.AccessRole.Name(number).removeprefix("ACCESS_ROLE_").lower()


def encode(response: Message | bytes) -> bytes:
    """Returns the encoded response."""
    return response if isinstance(response, bytes) else response.SerializeToString()
