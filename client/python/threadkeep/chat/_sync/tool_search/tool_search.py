# Generated from _async by `make sync-client`. Do not edit.
"""A tool loop for many tools: it shows a search tool, and the tools that were found."""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import closing
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import Field

from ...context_keys import SESSION, TOOL_CALLING_ORDER, USER
from ...errors import InvalidTool, MissingSession
from ...tool_search.eviction import Eviction, EvictLeastRecentlyUsed
from ...tool_search.tool_search_results import GUIDANCE, DisclosedTools, guided, search_output, session_key
from ...tools.function_tools import function_tool
from ...tools.schemas import checked_name
from ...tools.tool import Tool, ToolContext, ToolOutput
from ...types.options import ToolOptions
from ...types.requests import ChatClientRequest, ChatClientResponse
from ..runtime.chain import AdvisorChain
from ..tools.tool_calling import Eligible, ToolCallingAdvisor, default_eligible
from ..tools.tool_manager import ToolManager
from .tool_catalog import ToolCatalog
from .tool_disclosure import ToolDisclosure
from .tool_index import KeywordToolIndex, ToolIndex

_MOST_RESULTS = 50


class ToolSearchAdvisor(ToolCallingAdvisor):
    """A tool loop that shows the model a search tool and the tools that its searches found.

    The request's tools are added to `index` once per session (again after names or descriptions change), and `eviction` drops
    sessions. A request needs a session (`.session(...)`), or raises MissingSession. `max_results`: of one search, 1 to 50,
    unless the model sets it. `accumulate`: found tools stay visible; False: only those of the last searches. `shown`: names of
    tools that are always visible. `guidance`: text that is added to the system message, with `{name}` for the search tool. The
    other settings are those of ToolCallingAdvisor. A copy (`changed`) shares the index unless it gets another index or
    policy.

    Earlier finds are read from the results in the conversation, with any memory, and from the context of this turn. Any tool
    of the request runs when it is called, visible or not. A tool with the name of the search tool raises InvalidTool. Modeled
    on Spring AI's ToolSearchToolCallingAdvisor.
    """

    needs_session = True
    settings: ClassVar[tuple[str, ...]] = (
        *ToolCallingAdvisor.settings,
        *("index", "eviction", "max_results", "accumulate", "shown", "search_tool_name", "guidance"),
    )

    def __init__(
        self,
        *,
        index: ToolIndex | None = None,
        eviction: Eviction | None = None,
        max_results: int = 5,
        accumulate: bool = True,
        shown: Collection[str] = (),
        search_tool_name: str = "search_tools",
        guidance: str = GUIDANCE,
        manager: ToolManager | None = None,
        order: int = TOOL_CALLING_ORDER,
        name: str = "Tool Search Advisor",
        eligible: Eligible = default_eligible,
        internal_history: bool = True,
        max_iterations: int | None = 50,
        concurrent: bool = False,
    ) -> None:
        """Raises ValueError, TypeError or InvalidTool, which name the parameter."""
        self._index = KeywordToolIndex() if index is None else index
        self._eviction = EvictLeastRecentlyUsed() if eviction is None else eviction
        self._max_results = max_results
        self._accumulate = accumulate
        self._shown = shown
        self._search_tool_name = search_tool_name
        self._guidance = guidance
        self._catalog = ToolCatalog(self._index, self._eviction)
        super().__init__(
            manager=manager,
            order=order,
            name=name,
            eligible=eligible,
            internal_history=internal_history,
            max_iterations=max_iterations,
            concurrent=concurrent,
        )

    @property
    def sessions(self) -> tuple[str, ...]:
        """Sessions whose tools are indexed, as keys of `session_key`."""
        return self._catalog.sessions

    def check(self) -> None:
        super().check()
        if not isinstance(self._index, ToolIndex):
            raise TypeError(f"index: put, find and drop, as an KeywordToolIndex has, not {self._index!r}")
        if not isinstance(self._eviction, Eviction):
            raise TypeError(f"eviction: used, finished and dropped, as NeverEvict has, not {self._eviction!r}")
        if not 1 <= self._max_results <= _MOST_RESULTS:
            raise ValueError(f"max_results: 1 to {_MOST_RESULTS}, not {self._max_results}")
        if isinstance(self._shown, str):
            raise TypeError("shown: a collection of names, not one text")
        checked_name(self._search_tool_name)
        if self._catalog.index is not self._index or self._catalog.eviction is not self._eviction:  # of a copy
            self._catalog = ToolCatalog(self._index, self._eviction)

    def evict(self, session: Any, user_id: str | None = None) -> None:
        """Drops a session's tools from the index; its next request adds them again. Name the session as its requests do."""
        self._catalog.evict(session_key(session, user_id))

    def before_call(self, request: ChatClientRequest, chain: AdvisorChain) -> ChatClientRequest:
        """Adds the tools to the index if necessary, and the search tool to the request."""
        options = request.options
        if not isinstance(options, ToolOptions) or not options.tools:
            return request
        if any(each.name == self._search_tool_name for each in options.tools):
            raise InvalidTool(f"two tools have the name {self._search_tool_name!r}; give another search_tool_name")
        session = _session_of(request)
        self._catalog.hold(session, [each.definition for each in options.tools])
        guidance = self._guidance.replace("{name}", self._search_tool_name)
        tools = (self._search_tool(session, options.tools), *options.tools)
        return request.with_messages(*guided(request.messages, guidance)).with_options(options.changed(tools=tools))

    def advise_call(self, request: ChatClientRequest, chain: AdvisorChain) -> ChatClientResponse:
        try:
            return super().advise_call(request, self._showing(chain))
        finally:
            self._finished(request)

    def advise_stream(self, request: ChatClientRequest, chain: AdvisorChain) -> Generator[ChatClientResponse, None, None]:
        try:
            with closing(super().advise_stream(request, self._showing(chain))) as chunks:
                for chunk in chunks:
                    yield chunk
        finally:
            self._finished(request)

    def _finished(self, request: ChatClientRequest) -> None:
        if request.context.get(SESSION):
            self._catalog.finished(_session_of(request))

    def _showing(self, chain: AdvisorChain) -> AdvisorChain:
        """Returns the chain with the tool disclosure as the innermost advisor, where it sees the additions of memories."""
        shown = DisclosedTools(self._search_tool_name, frozenset(self._shown), self._accumulate)
        return AdvisorChain((*chain.inner, ToolDisclosure(shown)), chain.model)

    def _search_tool(self, session: str, tools: tuple[Tool, ...]) -> Tool:
        definitions = [each.definition for each in tools]

        def find(query: str, limit: int | None) -> ToolOutput:
            return search_output(self._catalog.find(session, definitions, query, limit or self._max_results))

        def run(arguments: str, context: ToolContext) -> ToolOutput:
            found: Any = _SEARCH.run(arguments, ToolContext({_FIND: find}))
            output: ToolOutput = found
            return output

        return replace(_SEARCH.renamed(self._search_tool_name), run=run)


def search_tools(
    query: Annotated[str, Field(description="What the tool should do, in a few words.", min_length=1)],
    context: ToolContext,
    max_results: Annotated[int | None, Field(description="How many tools to find at most.", ge=1)] = None,
) -> ToolOutput:
    """Finds tools that you can call from your next step on."""
    found: Any = context.values[_FIND](query, max_results and min(max_results, _MOST_RESULTS))
    output: ToolOutput = found
    return output


_SEARCH = function_tool(search_tools)
_FIND = "find"


def _session_of(request: ChatClientRequest) -> str:
    session = request.context.get(SESSION)
    if not session:
        raise MissingSession(f"a tool search needs a session: call `.session(...)` or set the context's {SESSION!r}")
    return session_key(session, request.context.get(USER))
