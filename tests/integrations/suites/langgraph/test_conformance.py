"""The conformance kit that LangGraph publishes for checkpointers."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES

from threadkeep import AsyncClient, Client
from threadkeep.integrations.langgraph import ThreadkeepSaver


@pytest.mark.parametrize("kind", ["asynchronous", "blocking"])
async def test_kit_with_either_client_reports_full(client: AsyncClient, sync_client: Client, kind: str) -> None:
    @checkpointer_test(name=f"ThreadkeepSaver, {kind}")
    async def make() -> AsyncGenerator[ThreadkeepSaver, None]:
        yield ThreadkeepSaver(client if kind == "asynchronous" else sync_client)

    report = await validate(make)
    report.print_report()
    failures = {name: result.failures for name, result in report.results.items() if result.failures}
    assert not failures
    assert {name for name, result in report.results.items() if result.passed} == {each.value for each in ALL_CAPABILITIES}
    assert report.conformance_level() == "FULL"
