"""threadkeep.v1.SessionService."""

from __future__ import annotations

from threadkeep.v1 import session_service_pb2 as pb

from ...domain import validation
from ...domain.errors import InvalidField
from ...domain.model import Caller
from ...service.erasure import ErasedSession, ErasureService
from ...service.forks import ForkService
from ...service.sessions import SWEEP_AT_MOST, SessionService
from ...store.contract.erasure import MOST_USERS
from ...store.contract.sessions import Expired
from ..convert.erasure import app_of, cursor_of, cursor_to, label_scope, receipt_to, user_to
from ..convert.forks import fork_draft, point_of
from ..convert.removals import operation_of, required_operation
from ..convert.session_lists import session_query_of
from ..convert.sessions import ref_of, session_draft, session_patch, session_to, time_of
from ..convert.state import state_page_to, values_of
from ..page_tokens import PageTokens
from ..wire.codec import published

_MUTABLE = ("expiry", "metadata_json", "labels", "context_bytes")


class SessionServicer:
    def __init__(
        self,
        sessions: SessionService,
        forks: ForkService,
        erasures: ErasureService,
        limits: validation.Limits,
        tokens: PageTokens,
    ) -> None:
        self._sessions = sessions
        self._forks = forks
        self._erasures = erasures
        self._limits = limits
        self._tokens = tokens

    async def CreateSession(self, request: pb.CreateSessionRequest, caller: Caller) -> pb.CreateSessionResponse:
        ref = ref_of(request.session, creating=True)
        draft = session_draft(request)
        draft.state = values_of("state", request.state)
        session, created = await self._sessions.create(
            caller, ref, draft, return_existing=request.return_existing, unique=request.unique_in_app
        )
        return pb.CreateSessionResponse(session=session_to(session), created=created)

    async def ForkSession(self, request: pb.ForkSessionRequest, caller: Caller) -> pb.ForkSessionResponse:
        operation = required_operation(request, request.operation_id)
        made = await self._forks.fork(caller, ref_of(request.session), point_of(request), fork_draft(request), operation)
        return pb.ForkSessionResponse(session=session_to(made.session), replayed=made.replayed)

    async def GetSession(self, request: pb.GetSessionRequest, caller: Caller) -> pb.GetSessionResponse:
        session = await self._sessions.get(caller, ref_of(request.session))
        return pb.GetSessionResponse(session=session_to(session))

    async def ListSessions(self, request: pb.ListSessionsRequest, caller: Caller) -> pb.ListSessionsResponse:
        cursor = self._cursor(request, caller) if request.page_token else None
        page = await self._sessions.list(caller, session_query_of(request, self._limits, cursor))
        token = "" if page.cursor is None else self._tokens.make(request, caller, *page.cursor)
        response = pb.ListSessionsResponse(
            sessions=[session_to(each) for each in page.sessions],
            next_page_token=token,
            total_size=page.total or 0,
            states=map(state_page_to, page.states),
        )
        for event in page.newest:
            response.newest_events.add().MergeFromString(b"" if event is None else published(event))
        return response

    def _cursor(self, request: pb.ListSessionsRequest, caller: Caller) -> tuple[int, int]:
        create_time, session = self._tokens.read(request, caller, request.page_token, 2)
        return create_time or 0, session or 0

    async def ListUsers(self, request: pb.ListUsersRequest, caller: Caller) -> pb.ListUsersResponse:
        app = validation.identifier("app", request.app) if request.HasField("app") else None
        size = validation.page_size("page_size", request.page_size, default=MOST_USERS, most=MOST_USERS)
        after = cursor_of(self._tokens.read_text(request, caller, request.page_token)) if request.page_token else None
        page = await self._sessions.users(caller, app, size, after)
        token = "" if page.cursor is None else self._tokens.make_text(request, caller, cursor_to(page.cursor))
        return pb.ListUsersResponse(users=map(user_to, page.users), next_page_token=token)

    async def UpdateSession(self, request: pb.UpdateSessionRequest, caller: Caller) -> pb.UpdateSessionResponse:
        validation.count("update_mask.paths", request.update_mask.paths, validation.MAX_CHOICES)
        fields = frozenset(request.update_mask.paths)
        patch = session_patch(request)
        if not fields.issubset(_MUTABLE) or not (fields or patch.changes_something):
            raise InvalidField("update_mask", f"must name one or more of {', '.join(_MUTABLE)}")
        operation = operation_of(request, request.operation_id)
        session = await self._sessions.update(caller, ref_of(request.session), fields, session_draft(request), patch, operation)
        return pb.UpdateSessionResponse(session=session_to(session))

    async def MoveSession(self, request: pb.MoveSessionRequest, caller: Caller) -> pb.MoveSessionResponse:
        operation = required_operation(request, request.operation_id)
        user_id = validation.identifier("new_user_id", request.new_user_id, required=True)
        if not user_id.strip():
            raise InvalidField("new_user_id", "must not be blank")
        done = await self._sessions.move(caller, ref_of(request.session), user_id, operation)
        return pb.MoveSessionResponse(session=session_to(done.session), replayed=done.replayed)

    async def DeleteSession(self, request: pb.DeleteSessionRequest, caller: Caller) -> pb.DeleteSessionResponse:
        ref, uid = ref_of(request.session), validation.identifier("uid", request.uid)
        if request.purge_memories:
            gone = await self._erasures.session(caller, ref, uid)
        else:
            gone = ErasedSession(await self._sessions.delete(caller, ref, uid))
        return pb.DeleteSessionResponse(
            deleted=gone.events is not None,
            deleted_events=gone.events or 0,
            deleted_memories=gone.memories,
            deleted_archives=gone.archives,
        )

    async def DeleteExpiredSessions(
        self, request: pb.DeleteExpiredSessionsRequest, caller: Caller
    ) -> pb.DeleteExpiredSessionsResponse:
        which = Expired(
            app=validation.identifier("app", request.app) if request.HasField("app") else None,
            user_id=validation.identifier("user_id", request.user_id) or None,
            before=time_of("before", request.before) if request.HasField("before") else None,
        )
        deleted = await self._sessions.delete_expired(caller, which)
        return pb.DeleteExpiredSessionsResponse(deleted_sessions=deleted, more=deleted == SWEEP_AT_MOST)

    async def DeleteUser(self, request: pb.DeleteUserRequest, caller: Caller) -> pb.DeleteUserResponse:
        user_id = validation.identifier("user_id", request.user_id)
        receipt = await self._erasures.user(caller, user_id, app_of(request), _request_id(request.request_id))
        return pb.DeleteUserResponse(receipt=receipt_to(receipt), more=receipt.erased.finish_time is None)

    async def DeleteApp(self, request: pb.DeleteAppRequest, caller: Caller) -> pb.DeleteAppResponse:
        if not request.HasField("app"):
            raise InvalidField("app", "is required; an empty one means what has no app")
        app = validation.identifier("app", request.app)
        receipt = await self._erasures.app(caller, app, _request_id(request.request_id))
        return pb.DeleteAppResponse(receipt=receipt_to(receipt), more=receipt.erased.finish_time is None)

    async def DeleteByLabel(self, request: pb.DeleteByLabelRequest, caller: Caller) -> pb.DeleteByLabelResponse:
        receipt = await self._erasures.labeled(caller, label_scope(request), _request_id(request.request_id))
        return pb.DeleteByLabelResponse(receipt=receipt_to(receipt), more=receipt.erased.finish_time is None)


def _request_id(value: str) -> str:
    return validation.identifier("request_id", value)
