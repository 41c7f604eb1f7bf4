"""Users, and erasures: everything of a user, of an app, or with labels."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from .._convert import encodable
from ..v1 import session_service_pb2 as ss
from ..v1.erasure_pb2 import ErasureReceipt
from .connection import AsyncConnection
from .pages import paged

Progress = Callable[[ErasureReceipt], None]


class AsyncErasures(AsyncConnection):
    """Users, and calls that erase. An erasure repeats its call until nothing is left: `timeout` is that of one, of about 10 s.

    request_id: a repeated request with the same id and scope continues after a failure, and returns the same receipt for 30
    days; without one, a repeated request erases again. Raises InvalidField for an id that another scope has used.
    progress: called with the receipt so far, after each call.
    """

    async def delete_user(
        self,
        user_id: str,
        *,
        app: str | None = None,
        any_app: bool = False,
        request_id: str = "",
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> ErasureReceipt:
        """Delete everything of a user: sessions, their archives, memories, policies and, with all apps, consumers. Raises
        ArchiveFailed while archives are out of reach; a repeated call continues.

        `app`: by default the client's; "" is what has no app. Without one, or with `any_app`, all apps.
        """
        request = ss.DeleteUserRequest(
            user_id=encodable(user_id, "user_id"), app=self._app(app, any_app), request_id=encodable(request_id, "request_id")
        )
        stubs = await self._stubs()
        return await _repeated(lambda: self._call(stubs.sessions.DeleteUser, request, timeout), progress)

    async def delete_app(
        self, app: str, *, request_id: str = "", progress: Progress | None = None, timeout: float | None = None
    ) -> ErasureReceipt:
        """Delete everything of an app: the sessions, their archives and memories of all users, and policies. "" is what has
        no app."""
        request = ss.DeleteAppRequest(app=encodable(app, "app"), request_id=encodable(request_id, "request_id"))
        stubs = await self._stubs()
        return await _repeated(lambda: self._call(stubs.sessions.DeleteApp, request, timeout), progress)

    async def delete_by_label(
        self,
        labels: Mapping[str, str],
        *,
        user_id: str | None = None,
        app: str | None = None,
        any_user: bool = False,
        any_app: bool = False,
        purge_memories: bool = False,
        request_id: str = "",
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> ErasureReceipt:
        """Delete the sessions that have all of these labels. The scope is that of `sessions_page`.

        `purge_memories`: also the memories that came from them.
        """
        request = ss.DeleteByLabelRequest(
            labels=labels,
            user_id=self._user(user_id, any_user),
            app=self._app(app, any_app),
            purge_memories=purge_memories,
            request_id=encodable(request_id, "request_id"),
        )
        stubs = await self._stubs()
        return await _repeated(lambda: self._call(stubs.sessions.DeleteByLabel, request, timeout), progress)

    async def users_page(
        self,
        *,
        app: str | None = None,
        any_app: bool = False,
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
    ) -> ss.ListUsersResponse:
        """Return one page of the users that have sessions, memories or state, each with its app, in a fixed order.

        `app`: by default the client's; `app=""` is what has no app; `any_app`: every app. `page_size`: 0 is 100, the most.
        Raises InvalidPageToken, and PermissionDenied with a token that is bound to a user.
        """
        request = ss.ListUsersRequest(app=self._app(app, any_app), page_size=page_size, page_token=page_token)
        return await self._call((await self._stubs()).sessions.ListUsers, request, timeout)

    def users(
        self, *, app: str | None = None, any_app: bool = False, page_size: int = 0, timeout: float | None = None
    ) -> AsyncIterator[ss.UserRef]:
        """Iterate over all users that `users_page` finds."""
        return paged(
            lambda token: self.users_page(app=app, any_app=any_app, page_size=page_size, page_token=token, timeout=timeout),
            lambda page: page.users,
        )


_Response = ss.DeleteUserResponse | ss.DeleteAppResponse | ss.DeleteByLabelResponse


async def _repeated(call: Callable[[], Awaitable[_Response]], progress: Progress | None) -> ErasureReceipt:
    more = True
    while more:
        response = await call()
        more = response.more
        if progress is not None:
            progress(response.receipt)
    return response.receipt
