# Generated from _async by `make sync-client`. Do not edit.
"""One connection to one server: opening, calling, closing."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc

from .._address import endpoint
from .._arguments import NamesArguments
from .._channel import MOST_ATTEMPTS, channel_options, check_plaintext_token, credentials
from .._convert import SessionLike, app_of, encodable, session_ref, user_of
from .._local import MEMORY, LocalServer
from .._rpc_errors import from_rpc_error, readable
from .._streams.credential_threads import Credential, Token
from .._streams.frames_threads import LoopOwner
from .._streams.raw_threads import Channel, raw_channel
from ..v1.compaction_service_pb2_grpc import CompactionServiceStub
from ..v1.consumer_service_pb2_grpc import ConsumerServiceStub
from ..v1.event_service_pb2_grpc import EventServiceStub
from ..v1.memory_service_pb2_grpc import MemoryServiceStub
from ..v1.search_service_pb2_grpc import SearchServiceStub
from ..v1.server_service_pb2_grpc import ServerServiceStub
from ..v1.session_pb2 import SessionRef
from ..v1.session_service_pb2_grpc import SessionServiceStub
from ..v1.state_service_pb2_grpc import StateServiceStub
from ..v1.subscription_service_pb2 import ChangeScope
from ..v1.subscription_service_pb2_grpc import SubscriptionServiceStub
from ..v1.tool_service_pb2_grpc import ToolServiceStub

Request = TypeVar("Request")
Response = TypeVar("Response")
Stub = TypeVar("Stub")


class _Stubs:
    """A channel and the services' stubs on it."""

    def __init__(self, target: str, channel: grpc.Channel) -> None:
        self.target = target
        self.channel = channel
        self.raw: Channel | None = None
        self.sessions = SessionServiceStub(channel)
        self.events = EventServiceStub(channel)
        self.states = StateServiceStub(channel)
        self.compaction = CompactionServiceStub(channel)
        self.search = SearchServiceStub(channel)
        self.server = ServerServiceStub(channel)
        self.subscriptions = SubscriptionServiceStub(channel)
        self.consumers = ConsumerServiceStub(channel)
        self.memories = MemoryServiceStub(channel)
        self.tools = ToolServiceStub(channel)


class Connection(NamesArguments):
    """The connection of a client."""

    def __init__(
        self,
        address: str | None = None,
        *,
        token: Token | None = None,
        app: str = "",
        user_id: str = "",
        timeout: float = 30.0,
        tls: bool | grpc.ChannelCredentials | None = None,
        allow_plaintext_token: bool | None = None,
        max_attempts: int = MOST_ATTEMPTS,
        options: Sequence[tuple[str, Any]] = (),
        database: str = "",
    ) -> None:
        if address == MEMORY and not database:
            address, database = None, MEMORY
        self._local = LocalServer(database) if database else None
        if self._local is not None and (address or token or tls):
            raise ValueError("a server in this process takes neither address, token nor tls")
        where = endpoint("127.0.0.1" if database else address)
        self.address = database or where.target
        self.app = encodable(app, "app")
        self.user_id = encodable(user_id, "user_id")
        self.timeout = timeout
        self._credential = Credential(self._local.token if self._local else token)
        self._credentials = credentials(tls, where)
        if self._credential and self._credentials is None:
            check_plaintext_token(where, allow_plaintext_token)
        self._options = channel_options(options, max_attempts)
        self._opened: _Stubs | None = None
        self._closed = False
        self._opening = threading.Lock()
        self._owner = LoopOwner()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r}, app={self.app!r}, user_id={self.user_id!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; calls in flight fail. A server in this process stops. Closing twice does nothing."""
        self._renew()
        with self._opening:
            self._closed = True
            if self._opened is not None:
                self._opened.channel.close()
                if self._opened.raw is not None:
                    self._opened.raw.close()
            if self._local is not None:
                self._local.stop()

    def raw(self, stub: Callable[[Any], Stub]) -> Stub:
        """A generated stub, such as `threadkeep.v1.session_service_pb2_grpc.SessionServiceStub`, for what no method offers.

        Its calls send the client's token, have the client's timeout unless they are streams, and are repeated as those of the
        methods. They take and return messages of `threadkeep.v1`, and raise `grpc.RpcError`. The stubs share a channel of their
        own, which closes with the client.
        """
        opened = self._stubs()
        if opened.raw is None:
            opened.raw = raw_channel(opened.target, self._credentials, self._options, self._credential, self.timeout)
        return stub(opened.raw)

    def _ref(self, session: SessionLike) -> SessionRef:
        return session_ref(session, self.app, self.user_id)

    def _user(self, user_id: str | None, any_user: bool = False) -> str:
        """The user of a request, by default the client's; "" is every user."""
        return user_of(user_id, self.user_id, any_user)

    def _app(self, app: str | None, any_app: bool = False) -> str | None:
        """The app of a request, by default the client's; None is every app, "" sessions without one."""
        return app_of(app, self.app, any_app)

    def _scope(
        self, user_id: str | None, app: str | None, labels: Mapping[str, str] | None, any_user: bool, any_app: bool
    ) -> ChangeScope:
        """The scope of a subscription."""
        return ChangeScope(app=self._app(app, any_app), user_id=self._user(user_id, any_user), labels=labels)

    def _stubs(self) -> _Stubs:
        """The stubs; the first call makes the channel."""
        self._renew()
        with self._opening:
            if self._closed:
                raise RuntimeError("the client is closed")
            if self._opened is None:
                target = self.address if self._local is None else self._local.start()
                if self._credentials is None:
                    channel = grpc.insecure_channel(target, self._options)
                else:
                    channel = grpc.secure_channel(target, self._credentials, self._options)
                self._opened = _Stubs(target, channel)
            return self._opened

    def _renew(self) -> None:
        """Forgets the channel of an event loop that is closed. Raises RuntimeError where another loop is in use."""
        if self._owner.is_new():
            self._opening = threading.Lock()
            self._opened = None

    def _call(
        self, method: grpc.UnaryUnaryMultiCallable[Request, Response], request: Request, timeout: float | None
    ) -> Response:
        seconds = self.timeout if timeout is None else timeout
        metadata = self._credential.metadata()
        try:
            return readable(method(request, timeout=None if seconds == math.inf else seconds, metadata=metadata))
        except grpc.RpcError as error:
            raise from_rpc_error(error, self.address) from None
