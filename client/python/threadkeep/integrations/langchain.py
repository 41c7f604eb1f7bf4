"""LangChain: the conversation of an agent of `create_agent`, kept in a session: `pip install "threadkeep[langchain]"`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ._versions import require

require("langchain", ">=1.5,<2", extra="langchain")

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse  # noqa: E402
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, RemoveMessage, ToolMessage  # noqa: E402
from langgraph.config import get_config  # noqa: E402
from langgraph.graph.message import REMOVE_ALL_MESSAGES  # noqa: E402
from langgraph.runtime import Runtime  # noqa: E402

from .._convert import CreateOptions, SessionLike, session_ref  # noqa: E402
from ..memory import MemoryProvider  # noqa: E402
from ..v1.event_pb2 import SessionEvent  # noqa: E402
from ..v1.session_pb2 import SessionRef  # noqa: E402
from ._bridge import AnyClient, Bridge, Calls, chunks  # noqa: E402
from .langgraph._messages import Stored, messages_of  # noqa: E402

__all__ = ["ThreadkeepMiddleware"]

_MOST_EVENTS = 500
_INTERRUPTED = "The run was interrupted before the tool returned."
State = AgentState[Any]
Update = dict[str, Any] | None


class ThreadkeepMiddleware(AgentMiddleware[State, Any, Any]):
    """Keeps an agent's conversation in a session: pass it to `create_agent`, which then needs no checkpointer.

    A run begins with the session's history, of all writers, and each new message is stored before the next step. A run that
    broke off is resumed by `invoke({"messages": []})`: it continues with the tools or the model.

    client: an AsyncClient for `ainvoke` and `astream`; a Client for `invoke` and `stream`, whose asynchronous calls use
    threads. session: the session, or a function that returns it for a run's runtime; by default the `thread_id` of the run's
    config. An id is of the client's user, a SessionRef names another. memory: what the agent reads and whether it writes; by
    default the context within the server's size, without instructions to models. create: how a session is created, for example
    {"never_expires": True}. Errors of calls are `ThreadkeepError`.
    """

    def __init__(
        self,
        client: AnyClient,
        session: SessionLike | Callable[[Runtime[Any]], SessionLike] | None = None,
        *,
        memory: MemoryProvider | None = None,
        create: CreateOptions | None = None,
    ) -> None:
        super().__init__()
        self.tools = ()
        self._client = client
        self._of_run = session
        stored = Stored()
        memory = memory or MemoryProvider.limited_window().without_system()
        self._bridge = Bridge(client, lambda calls: _History(calls, stored, memory, create))

    def before_agent(self, state: State, runtime: Runtime[Any]) -> Update:
        """Put the session's history before the messages of the run, and store these."""
        return self._bridge.run(self._bridge.blocking.begin(self._session(runtime), state["messages"], _run_id(runtime)))

    async def abefore_agent(self, state: State, runtime: Runtime[Any]) -> Update:
        """As `before_agent`."""
        return await self._bridge.awaited.begin(self._session(runtime), state["messages"], _run_id(runtime))

    def before_model(self, state: State, runtime: Runtime[Any]) -> None:
        """Store the results of tools."""
        self._store(state, runtime)

    async def abefore_model(self, state: State, runtime: Runtime[Any]) -> None:
        """As `before_model`."""
        await self._astore(state, runtime)

    def after_model(self, state: State, runtime: Runtime[Any]) -> None:
        """Store what the model answered."""
        self._store(state, runtime)

    async def aafter_model(self, state: State, runtime: Runtime[Any]) -> None:
        """As `after_model`."""
        await self._astore(state, runtime)

    def after_agent(self, state: State, runtime: Runtime[Any]) -> None:
        """Store what other middleware added last."""
        self._store(state, runtime)

    async def aafter_agent(self, state: State, runtime: Runtime[Any]) -> None:
        """As `after_agent`."""
        await self._astore(state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | AIMessage:
        """Continue with the tools where a run broke off before they returned, else call the model."""
        return _waiting(request.messages) or handler(request)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | AIMessage:
        """As `wrap_model_call`."""
        return _waiting(request.messages) or await handler(request)

    def _store(self, state: State, runtime: Runtime[Any]) -> None:
        self._bridge.run(self._bridge.blocking.store(self._session(runtime), state["messages"], _run_id(runtime)))

    async def _astore(self, state: State, runtime: Runtime[Any]) -> None:
        await self._bridge.awaited.store(self._session(runtime), state["messages"], _run_id(runtime))

    def _session(self, runtime: Runtime[Any]) -> SessionRef:
        found = self._of_run(runtime) if callable(self._of_run) else self._of_run
        if found is None:
            found = str(get_config().get("configurable", {}).get("thread_id") or "")
        if found == "":
            raise ValueError("no session: give ThreadkeepMiddleware a session, or the run's config a thread_id")
        return session_ref(found, self._client.app, self._client.user_id)


class _History:
    """The histories of sessions on a server."""

    def __init__(self, calls: Calls, stored: Stored, memory: MemoryProvider, create: CreateOptions | None) -> None:
        self._calls = calls
        self._stored = stored
        self._memory = memory
        self._create = create or True

    async def begin(self, session: SessionRef, messages: Sequence[AnyMessage], run_id: str) -> Update:
        """The messages of a run: the history, then those that are not in it. Calls that never returned get a result if the run
        has messages that follow them."""
        context = await self._calls(lambda client: client.get_context(session, self._memory))
        history = [message for event in context.events for message in messages_of(event.pb)]
        known = {message.id for message in history}
        new: list[BaseMessage] = [message for message in messages if message.id not in known]
        if new and history:
            new = [*_interrupted(history), *new]
        await self.store(session, new, run_id)
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *history, *new]} if history else None

    async def store(self, session: SessionRef, messages: Sequence[BaseMessage], run_id: str) -> None:
        """Stores messages that are not stored. A message with a stored id replaces it only if this process knows that one."""
        key = f"{session.app}\n{session.user_id}\n{session.session_id}"
        changed = self._stored.changed(key, messages, run_id=run_id)
        for events, if_exists in ((changed.added, "ignore"), (changed.edited, "replace")):
            for some in chunks(events, _MOST_EVENTS):
                await self._append(session, some, if_exists)
        self._stored.store(key, changed.messages)

    async def _append(self, session: SessionRef, events: Sequence[SessionEvent], if_exists: str) -> None:
        await self._calls(
            lambda client: client.append(
                session, *events, create_if_missing=self._create, if_exists=if_exists, memory=self._memory
            )
        )


def _open_calls(messages: Sequence[BaseMessage]) -> list[str]:
    """The ids of the last message's calls that have no result behind it."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if isinstance(message, AIMessage):
            results = {each.tool_call_id for each in messages[place + 1 :] if isinstance(each, ToolMessage)}
            return [str(call["id"]) for call in message.tool_calls if call["id"] not in results]
        if not isinstance(message, ToolMessage):
            break
    return []


def _waiting(messages: Sequence[BaseMessage]) -> AIMessage | None:
    """The message whose calls wait for their tools; None if the model's turn is next."""
    if not _open_calls(messages):
        return None
    return next(message for message in reversed(messages) if isinstance(message, AIMessage))


def _interrupted(history: Sequence[BaseMessage]) -> list[ToolMessage]:
    """A result for each call that has none, without which models refuse the conversation."""
    return [
        ToolMessage(_INTERRUPTED, tool_call_id=call_id, status="error", id=f"interrupted-{call_id}"[:200])
        for call_id in _open_calls(history)
    ]


def _run_id(runtime: Runtime[Any]) -> str:
    info = runtime.execution_info
    return (info.run_id or "") if info is not None else ""
