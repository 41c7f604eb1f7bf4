"""The RPCs of a servicer, found by walking its service's descriptor, so that gRPC and HTTP serve the very same methods.

A servicer method takes `(request, caller)` and returns the response message, or its encoding as bytes where stored bytes
are handed through. It raises domain errors and knows no transport.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

# Any: the request's class differs by method and is fixed by the descriptor.
Handler = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Method:
    """One RPC. A stream of requests is handed over as an async iterator. A stream of responses is an async generator, which
    the transport closes as soon as nobody reads on: what it holds is not left to the garbage collector."""

    service: str
    name: str
    request_type: type[Message]
    response_type: type[Message]
    client_streaming: bool
    server_streaming: bool
    idempotent: bool
    read_only: bool
    call: Handler

    @property
    def path(self) -> str:
        return f"/{self.service}/{self.name}"

    @property
    def streaming(self) -> bool:
        return self.client_streaming or self.server_streaming


@dataclass(frozen=True, slots=True)
class Service:
    """A proto service and the object that serves it."""

    descriptor: ServiceDescriptor
    servicer: object

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
            call=getattr(self.servicer, descriptor.name),
        )


def encode(response: Message | bytes) -> bytes:
    """The response's encoding."""
    return response if isinstance(response, bytes) else response.SerializeToString()
