"""PATCH /apps/{app}/users/{user}/memory: adds a session to long-term memory over plain HTTP, as agent frameworks do."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from urllib.parse import unquote

from threadkeep.v1 import memory_service_pb2

from ...domain import validation
from ...domain.errors import InvalidField
from ...domain.model import SessionRef
from ...service.memory.memories import MemoryService
from ..asgi import Receive, Scope, Send
from ..audit.trail import Trail
from ..auth import Authenticator
from ..client_certificates import CLIENT_NAMES
from ..errors import as_domain_error
from ..rpc import required_role
from .responses import respond_error, respond_json

PATTERN = "/apps/{app}/users/{user}/memory"
SHOWN = f'{PATTERN} with {{"sessionId": "..."}}'
_METHOD = "PATCH"
_AUDITED = f"{_METHOD} {PATTERN}"
_ROLE = required_role(memory_service_pb2.DESCRIPTOR.services_by_name["MemoryService"].methods_by_name["AddSessionToMemory"])
_SEGMENTS = 6
_MOST_BYTES = 64 << 10
_LONGEST_NAME = 100
_NAMES = ("sessionId", "session_id")


class _TooLarge(Exception):
    """The body is too large."""


class MemoryRoute:
    """Serves AddSessionToMemory with default options: returns its counts, or the error of the RPC."""

    def __init__(self, memory: MemoryService, authenticator: Authenticator, trail: Trail | None = None) -> None:
        self._memory = memory
        self._authenticator = authenticator
        self._trail = trail

    @staticmethod
    def matches(scope: Scope) -> bool:
        """Reports whether the path matches. Ignores the method."""
        parts = _parts(scope)
        return len(parts) == _SEGMENTS and (parts[0], parts[1], parts[3], parts[5]) == (b"", b"apps", b"users", b"memory")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != _METHOD:
            wrong = InvalidField("method", f"must be {_METHOD}: {SHOWN}")
            await respond_error(send, wrong, 405, [(b"allow", _METHOD.encode())])
            return
        try:
            authorization = dict(scope["headers"]).get(b"authorization")
            credential = None if authorization is None else authorization.decode("latin-1")
            caller = await self._authenticator.admit(_ROLE, credential, CLIENT_NAMES.get(), method=_AUDITED)
            session = _named(scope, await _body(receive))
            recorded: AbstractContextManager[object] = nullcontext()
            if self._trail is not None:
                recorded = self._trail.call(_AUDITED, caller, session._asdict())
            with recorded:
                done = await self._memory.add_session(caller, session)
        except _TooLarge:
            message = f"the body must have at most {_MOST_BYTES:,} bytes"
            await respond_json(send, 413, {"code": "resource_exhausted", "message": message}, [(b"connection", b"close")])
        except Exception as exc:
            await respond_error(send, as_domain_error(exc))
        else:
            await respond_json(send, 200, asdict(done))


def _parts(scope: Scope) -> list[bytes]:
    """Returns the segments of the raw path, in which an encoded slash is not a separator."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw.partition(b"?")[0].split(b"/")


def _named(scope: Scope, body: bytes) -> SessionRef:
    """Returns the session of path and body. Raises InvalidField."""
    _, _, app, _, user, _ = _parts(scope)
    return SessionRef(
        app=validation.identifier("app", _decoded("app", app)),
        user_id=validation.identifier("user", _decoded("user", user), required=True),
        session_id=validation.identifier("sessionId", _session_id(body), required=True),
    )


def _decoded(field: str, segment: bytes) -> str:
    try:
        return unquote(segment.decode("ascii"), errors="strict")
    except UnicodeDecodeError:
        raise InvalidField(field, "must be UTF-8, percent-encoded") from None


def _session_id(body: bytes) -> str:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidField("body", 'must be JSON, as in {"sessionId": "..."}') from None
    if not isinstance(value, dict):
        raise InvalidField("body", 'must be a JSON object, as in {"sessionId": "..."}')
    if unknown := sorted(value.keys() - set(_NAMES)):
        name = unknown[0][:_LONGEST_NAME].encode("utf-8", "replace").decode()  # JSON can write half of a surrogate pair
        raise InvalidField(name, "is not a field; the only one here is sessionId")
    given = [value[name] for name in _NAMES if name in value]
    if len(given) > 1:
        raise InvalidField("sessionId", "and session_id are the same field; keep one")
    if not given:
        raise InvalidField("sessionId", "is required")
    if not isinstance(given[0], str):
        raise InvalidField("sessionId", "must be a string")
    return _without_surrogates(given[0])


def _without_surrogates(session_id: str) -> str:
    try:
        session_id.encode()
    except UnicodeEncodeError:
        raise InvalidField("sessionId", "must not contain unpaired surrogates") from None
    return session_id


async def _body(receive: Receive) -> bytes:
    pieces: list[bytes] = []
    size = 0
    more = True
    while more:
        event = await receive()
        if event["type"] != "http.request":
            break  # the client is gone
        pieces.append(event.get("body", b""))
        size += len(pieces[-1])
        if size > _MOST_BYTES:
            raise _TooLarge
        more = event.get("more_body", False)
    return b"".join(pieces)
