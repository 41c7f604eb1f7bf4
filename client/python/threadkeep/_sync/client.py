# Generated from _async by `make sync-client`. Do not edit.
"""The client; see `connection`."""

from __future__ import annotations

from typing import Self

from .._convert import SessionLike
from .calls import Calls
from .memories import UserMemory
from .session_handle import SessionHandle


class Client(Calls):
    """A client of one server; share one instance, and close it or use it as a context manager.

    address: "host:port" of the gRPC port, or a host, whose port is then 7443; "https://host:port" turns TLS on. By default the
    value of THREADKEEP_ADDRESS, else 127.0.0.1:7443.
    token: sent as "authorization: Bearer"; by default the value of THREADKEEP_TOKEN, else none is sent. A function is called
    for each call and returns the token, or in Client an awaitable, which may take 30 seconds.
    app, user_id: complete a session that is given by its id alone, and are the default scope of requests. Give both or
    neither, unless the token specifies the user.
    timeout: the most seconds of a call, including its retries; `math.inf` for no limit. A method's own timeout overrides it.
    tls: True for TLS with the system's roots, or channel credentials; by default as in the address.
    allow_plaintext_token: send the token without TLS to other machines too, otherwise a ValueError; by default the value of
    THREADKEEP_ALLOW_PLAINTEXT_TOKEN.
    max_attempts: of calls that are safe to repeat, 1 to 5, the default; 1 turns retries off.
    options: further gRPC channel options; they override the client's.
    database: run a server in this process; see `local`. The address ":memory:" is short for a database in memory.

    A `session` argument is an id, a SessionRef (used unchanged), a Session or a handle. Calls that are safe to repeat are
    repeated, by default up to four times, while the server is unavailable. Iterators fetch page after page, each with its own
    timeout.

    Every method may raise Unavailable, DeadlineExceeded, Unauthenticated, PermissionDenied, InvalidField, StoreUnavailable,
    ServerDraining and Internal; the methods name further errors, and all are `ThreadkeepError`. Invalid arguments
    raise TypeError or ValueError.
    """

    @classmethod
    def local(cls, database: str, *, app: str = "", user_id: str = "", timeout: float = 30.0) -> Self:
        """A client of a server that runs in this process, on the SQLite file `database` or in memory (":memory:").

        The first call starts the server, and `close` stops it. It needs `pip install "threadkeep[server]"`.
        """
        return cls(app=app, user_id=user_id, timeout=timeout, database=database)

    @property
    def memories(self) -> UserMemory:
        """The long-term memory of the client's user in the client's app; `memory` returns that of others."""
        return self.memory()

    def session(self, session: SessionLike) -> SessionHandle:
        """A handle for one session, which need not exist. Makes no call."""
        return SessionHandle(self, self._ref(session))
