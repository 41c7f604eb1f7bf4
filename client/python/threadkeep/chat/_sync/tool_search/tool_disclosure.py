# Generated from _async by `make sync-client`. Do not edit.
"""The tools that the model sees."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

from ...context_keys import LOWEST_PRECEDENCE
from ...tool_search.tool_search_results import DisclosedTools
from ...types.requests import ChatClientRequest, ChatClientResponse
from ..runtime.chain import AdvisorChain


class ToolDisclosure:
    """The innermost advisor of a tool search: it sees the conversation as the model does, with the additions of memories."""

    def __init__(self, shown: DisclosedTools) -> None:
        self._shown = shown

    @property
    def name(self) -> str:
        return "Tool Search Advisor: tools shown"

    @property
    def order(self) -> int:
        return LOWEST_PRECEDENCE

    def advise_call(self, request: ChatClientRequest, chain: AdvisorChain) -> ChatClientResponse:
        return chain.next_call(self._shown.narrowed(request))

    def advise_stream(self, request: ChatClientRequest, chain: AdvisorChain) -> Generator[ChatClientResponse, None, None]:
        with closing(chain.next_stream(self._shown.narrowed(request))) as chunks:
            for chunk in chunks:
                yield chunk
