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
    token: sent as "authorization: Bearer"; by default the value of THREADKEEP_TOKEN, else none is sent.
    app, user_id: complete a session that is given by its id alone, and are the scope of requests that name none. Give both or
    neither, unless the token names the user.
    timeout: seconds a call may take, its retries included; `math.inf` for no limit. A method's own timeout overrides it.
    tls: True for TLS with the system's roots, or channel credentials; by default as the address says.
    allow_plaintext_token: send the token without TLS beyond this machine too, which is a ValueError otherwise; by default the
    value of THREADKEEP_ALLOW_PLAINTEXT_TOKEN.
    options: further gRPC channel options; they win over the client's.

    A `session` argument is an id, a SessionRef (taken as it is) or a Session. Calls that are safe to repeat are repeated up
    to four times while the server is unavailable. Iterators fetch page after page, each with its own timeout.

    Every method may raise Unavailable, DeadlineExceeded, Unauthenticated, PermissionDenied, InvalidField, StoreUnavailable,
    ServerDraining and Internal; further errors are named with the method, and all are `ThreadkeepError`. Arguments that no
    request could hold raise TypeError or ValueError.
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
