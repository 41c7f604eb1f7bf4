"""HTTP responses outside the RPC library."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable

from google.protobuf import symbol_database

from ...domain.errors import Kind, ThreadkeepError
from ..asgi import Send
from ..errors import status_of
from ..wire.json_codec import to_json

JSON = b"application/json"
TEXT = b"text/plain; charset=utf-8"
Header = tuple[bytes, bytes]

# As in the Connect protocol, so that all paths return the same status for the same error.
_STATUS = {
    Kind.INVALID_ARGUMENT: 400,
    Kind.DEADLINE_EXCEEDED: 504,
    Kind.NOT_FOUND: 404,
    Kind.ALREADY_EXISTS: 409,
    Kind.PERMISSION_DENIED: 403,
    Kind.RESOURCE_EXHAUSTED: 429,
    Kind.FAILED_PRECONDITION: 400,
    Kind.ABORTED: 409,
    Kind.OUT_OF_RANGE: 400,
    Kind.INTERNAL: 500,
    Kind.UNAVAILABLE: 503,
    Kind.UNAUTHENTICATED: 401,
}


async def respond(send: Send, status: int, content_type: bytes, body: bytes, headers: Iterable[Header] = ()) -> None:
    """Sends a complete response."""
    own = [(b"content-type", content_type), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def respond_json(send: Send, status: int, value: object, headers: Iterable[Header] = ()) -> None:
    """Sends a value as one line of JSON."""
    await respond(send, status, JSON, json.dumps(value, ensure_ascii=False).encode() + b"\n", headers)


async def respond_error(send: Send, error: ThreadkeepError, status_code: int = 0, headers: Iterable[Header] = ()) -> None:
    """Sends an error in the form of the Connect protocol, by default with the status of its kind."""
    status = status_of(error)
    details = []
    for detail in status.details:
        unpacked = symbol_database.Default().GetSymbol(detail.TypeName())()
        detail.Unpack(unpacked)
        value = base64.b64encode(detail.value).decode().rstrip("=")
        details.append({"type": detail.TypeName(), "value": value, "debug": json.loads(to_json(unpacked))})
    body = {"code": error.kind.name.lower(), "message": status.message, "details": details}
    await respond_json(send, status_code or _STATUS[error.kind], body, headers)
