"""The tool loop as a stream: the chunks that pass, their usage, and closed streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, closing
from typing import Any

import pytest

from threadkeep.chat import (
    ChatClientRequest,
    ChatClientResponse,
    ChatResponse,
    Generation,
    Reasoning,
    ToolCallLimits,
    Usage,
    assistant,
)
from threadkeep.chat.types.responses import RETURN_DIRECT, TOOL_CALL_LIMIT_EXCEEDED, TOOL_ITERATIONS_EXCEEDED

from ..async_and_sync import Kit, text_of
from ..recording_loops import recording, stream_hooks, streaming
from ..tool_loop import RecordingTools, answer_calling, answer_saying, chunked_model, loop, request


def usages(chunks: list[ChatClientResponse]) -> list[tuple[int, int, int]]:
    return [(chunk.usage.input_tokens, chunk.usage.output_tokens, chunk.usage.total_tokens) for chunk in chunks]


async def test_single_chunk_passes_unchanged(kit: Kit) -> None:
    chunk = answer_saying("hello", Usage(1, 2, 3, native="as it came"))
    [passed] = await kit.all(loop(kit, chunked_model(kit, [chunk])).next_stream(request()))
    assert passed.response is chunk


async def test_chunk_without_answer_passes_unchanged(kit: Kit) -> None:
    class Async:
        name, order = "silent", 0

        async def advise_stream(self, request: ChatClientRequest, chain: Any) -> AsyncIterator[ChatClientResponse]:
            yield ChatClientResponse(None, {"mark": 1})

    class Sync:
        name, order = "silent", 0

        def advise_stream(self, request: ChatClientRequest, chain: Any) -> Iterator[ChatClientResponse]:
            yield ChatClientResponse(None, {"mark": 1})

    silent = Async() if kit.is_async else Sync()
    chain = loop(kit, kit.ScriptedModel(), silent, eligible=lambda answer: True)
    [passed] = await kit.all(chain.next_stream(request()))
    assert (passed.response, dict(passed.context)) == (None, {"mark": 1})


async def test_only_chunks_of_the_last_round_pass(kit: Kit) -> None:
    runs = RecordingTools()
    final = answer_saying("ten past nine")
    chunks = await kit.all(
        loop(kit, chunked_model(kit, [answer_calling("clock")], [final])).next_stream(request(runs.tool("clock")))
    )
    assert ([chunk.response for chunk in chunks], runs.made) == ([final], ["clock"])


async def test_text_and_reasoning_pass_at_once_and_empty_chunks_after_calls_do_not(kit: Kit) -> None:
    thought = ChatResponse((Generation(assistant([Reasoning("hm")])),))
    ending = ChatResponse((Generation(assistant(), "tool_calls"),), Usage(1, 1, 2))
    first = [thought, answer_saying("let me see"), answer_calling("clock"), answer_saying("one moment"), ending]
    runs = RecordingTools()
    model = chunked_model(kit, first, [answer_saying("done", Usage(2, 2, 4))])
    stream = loop(kit, model).next_stream(request(runs.tool("clock")))
    seen: list[tuple[str, int]] = []
    if kit.is_async:
        seen += [(chunk.text or chunk.message.reasoning, len(runs.made)) async for chunk in stream]
    else:
        seen += [(chunk.text or chunk.message.reasoning, len(runs.made)) for chunk in stream]
    assert seen == [("hm", 0), ("let me see", 0), ("one moment", 0), ("done", 1)]


async def test_text_in_one_chunk_with_a_call_is_kept(kit: Kit) -> None:
    both = answer_calling("clock", text="let me see", usage=Usage(1, 2, 3))
    model = chunked_model(kit, [both], [answer_saying("done", Usage(10, 20, 30))])
    chunks = await kit.all(loop(kit, model).next_stream(request(RecordingTools().tool("clock"))))
    assert [(chunk.text, chunk.tool_calls, chunk.response.finish_reason) for chunk in chunks] == [
        ("let me see", (), ""),
        ("done", (), "stop"),
    ]
    assert usages(chunks) == [(0, 0, 0), (11, 22, 33)]
    left = loop(kit, chunked_model(kit, [both]), eligible=lambda answer: False)
    chunks = await kit.all(left.next_stream(request(RecordingTools().tool("clock"))))
    assert [(chunk.text, len(chunk.tool_calls), chunk.response.finish_reason) for chunk in chunks] == [
        ("let me see", 0, ""),
        ("", 1, "tool_calls"),
    ]
    assert usages(chunks) == [(0, 0, 0), (1, 2, 3)]


async def test_end_of_answer_after_a_call_is_held_back_even_with_text(kit: Kit) -> None:
    ending = answer_saying("one moment", Usage(1, 2, 3))
    model = chunked_model(kit, [answer_calling("clock"), ending], [answer_saying("done", Usage(10, 20, 30))])
    chunks = await kit.all(loop(kit, model).next_stream(request(RecordingTools().tool("clock"))))
    assert [(chunk.text, chunk.response.finish_reason) for chunk in chunks] == [("one moment", ""), ("done", "stop")]
    assert usages(chunks) == [(0, 0, 0), (11, 22, 33)]


async def test_earlier_usage_is_added_to_the_chunk_that_has_usage(kit: Kit) -> None:
    final = [answer_saying("ten "), answer_saying("past ", Usage(1, 2, 3)), answer_saying("nine")]
    model = chunked_model(kit, [answer_calling("clock", usage=Usage(10, 20, 30))], final)
    chunks = await kit.all(loop(kit, model).next_stream(request(RecordingTools().tool("clock"))))
    assert usages(chunks) == [(0, 0, 0), (11, 22, 33), (0, 0, 0)]
    assert text_of(chunks) == "ten past nine"


async def test_final_chunk_without_generations_reports_usage_missing_in_last_round(kit: Kit) -> None:
    model = chunked_model(
        kit, [answer_calling("clock", usage=Usage(10, 20, 30))], [answer_saying("ten "), answer_saying("past nine")]
    )
    chunks = await kit.all(loop(kit, model).next_stream(request(RecordingTools().tool("clock"))))
    assert usages(chunks) == [(0, 0, 0), (0, 0, 0), (10, 20, 30)]
    assert [len(chunk.response.generations) for chunk in chunks if chunk.response] == [1, 1, 0]


async def test_stream_without_usage_adds_no_final_chunk(kit: Kit) -> None:
    model = chunked_model(kit, [answer_calling("clock")], [answer_saying("done")])
    assert len(await kit.all(loop(kit, model).next_stream(request(RecordingTools().tool("clock"))))) == 1


async def test_streams_of_one_chain_sum_usage_separately(kit: Kit) -> None:
    replies = [answer_calling("clock", usage=Usage(10, 20, 30)), answer_saying("done", Usage(1, 2, 3))]
    model = kit.ScriptedModel(replies * 2)
    chain = loop(kit, model)
    for _ in range(2):
        chunks = await kit.all(chain.next_stream(request(RecordingTools().tool("clock"))))
        assert usages(chunks)[-1] == (11, 22, 33)
    assert len(model.prompts) == 4


@pytest.mark.parametrize(
    ("return_direct", "per_tool", "max_iterations", "made", "reason"),
    [
        (True, 40, 50, ["clock"], RETURN_DIRECT),
        (False, 0, 50, [], TOOL_CALL_LIMIT_EXCEEDED),
        (False, 40, 1, [], TOOL_ITERATIONS_EXCEEDED),
    ],
)
async def test_early_end_is_one_chunk_without_calls(
    kit: Kit, return_direct: bool, per_tool: int, max_iterations: int, made: list[str], reason: str
) -> None:
    runs = RecordingTools()
    called = runs.tool("clock", return_direct=return_direct)
    manager = kit.ToolCallingManager(limits=ToolCallLimits(per_tool=per_tool))
    model = chunked_model(kit, [answer_saying("let me see "), answer_calling("clock", usage=Usage(1, 2, 3))])
    chain = loop(kit, model, manager=manager, max_iterations=max_iterations)
    text, end = await kit.all(chain.next_stream(request(called)))
    assert (text.text, runs.made) == ("let me see ", made)
    assert (end.response.finish_reason, end.tool_calls, end.usage) == (reason, (), Usage(1, 2, 3))
    assert (end.response.id, end.response.model) == ("id-1", "scripted")


async def test_final_usage_chunk_passes_finalize_hook(kit: Kit) -> None:
    advisor = recording(kit)
    model = chunked_model(kit, [answer_calling("clock", usage=Usage(10, 20, 30))], [answer_saying("done")])
    chunks = await kit.all(kit.AdvisorChain([advisor], model).next_stream(request(RecordingTools().tool("clock"))))
    assert usages(chunks) == [(0, 0, 0), (10, 20, 30)]
    assert advisor._seen[-1] == "finalize"


async def test_stream_calls_its_own_hooks(kit: Kit) -> None:
    seen: list[str] = []
    model = kit.ScriptedModel([answer_calling("clock"), "done", answer_calling("clock"), "done"])
    chain = kit.AdvisorChain([stream_hooks(kit, seen)], model)
    await kit.all(chain.next_stream(request(RecordingTools().tool("clock"))))
    assert seen == ["initialize", "before", "next after ['clock']", "before"]
    assert len(model.prompts[1].messages) == 1
    seen.clear()
    await kit.of(chain.next_call, request(RecordingTools().tool("clock")))
    assert seen == []


async def test_after_stream_receives_the_merged_chunks_of_each_round(kit: Kit) -> None:
    rounds: list[ChatClientResponse] = []

    def after(response: ChatClientResponse) -> ChatClientResponse:
        rounds.append(response)
        return response.with_context({"rounds": len(rounds)})

    model = chunked_model(
        kit,
        [answer_saying("let "), answer_saying("me see"), answer_calling("clock", usage=Usage(1, 2, 3))],
        [answer_saying("ten "), answer_saying("past")],
    )
    chain = kit.AdvisorChain([streaming(kit, after=after)], model)
    chunks = await kit.all(chain.next_stream(request(RecordingTools().tool("clock"))))
    assert [(each.text, len(each.tool_calls)) for each in rounds] == [("let me see", 1), ("ten past", 0)]
    assert rounds[0].usage == Usage(1, 2, 3)
    assert [chunk.context.get("rounds") for chunk in chunks if chunk.text] == [None, None, 1, 1]


async def test_after_stream_that_removes_the_calls_ends_the_turn(kit: Kit) -> None:
    def after(response: ChatClientResponse) -> ChatClientResponse:
        refused = Generation(assistant(response.text), "stop")
        return response.with_response(ChatResponse((refused,), response.usage))

    runs = RecordingTools()
    model = chunked_model(kit, [answer_saying("let me see"), answer_calling("clock", usage=Usage(1, 2, 3))])
    chain = kit.AdvisorChain([streaming(kit, after=after)], model)
    chunks = await kit.all(chain.next_stream(request(runs.tool("clock"))))
    assert (runs.made, text_of(chunks), [chunk.tool_calls for chunk in chunks]) == ([], "let me see", [(), ()])
    assert (chunks[-1].response.finish_reason, chunks[-1].usage) == ("stop", Usage(1, 2, 3))


async def test_after_call_hook_also_runs_for_streams(kit: Kit) -> None:
    advisor = recording(kit)
    model = chunked_model(kit, [answer_calling("clock")], [answer_saying("done")])
    await kit.all(kit.AdvisorChain([advisor], model).next_stream(request(RecordingTools().tool("clock"))))
    assert advisor._seen == ["initialize", "before", "after", "next", "before", "after", "finalize"]


async def test_finalize_loop_stream_transforms_the_output_of_every_round(kit: Kit) -> None:
    def louder(chunk: ChatClientResponse) -> ChatClientResponse:
        return chunk.with_response(answer_saying(chunk.text.upper(), chunk.usage))

    model = chunked_model(
        kit,
        [answer_saying("let me see "), answer_calling("clock", usage=Usage(1, 2, 3))],
        [answer_saying("ten "), answer_saying("past")],
    )
    chain = kit.AdvisorChain([streaming(kit, finalize=louder)], model)
    chunks = await kit.all(chain.next_stream(request(RecordingTools().tool("clock"))))
    assert text_of(chunks) == "LET ME SEE TEN PAST"
    assert chunks[-1].usage == Usage(1, 2, 3)


async def test_closed_stream_runs_no_tool(kit: Kit) -> None:
    runs = RecordingTools()
    model = chunked_model(
        kit, [answer_saying("let "), answer_saying("me see"), answer_calling("clock")], [answer_saying("never")]
    )
    stream = loop(kit, model).next_stream(request(runs.tool("clock")))
    if kit.is_async:
        async with aclosing(stream) as chunks:
            async for _ in chunks:
                break
    else:
        with closing(stream) as chunks:
            for _ in chunks:
                break
    assert (runs.made, model.opened, model.closed) == ([], 1, 1)


async def test_model_stream_is_closed_before_tools_run(kit: Kit) -> None:
    open_then: list[int] = []
    model = chunked_model(kit, [answer_calling("clock")], [answer_saying("done")])
    called = RecordingTools().tool("clock", lambda: open_then.append(model.opened - model.closed))
    await kit.all(loop(kit, model).next_stream(request(called)))
    assert (open_then, model.opened, model.closed) == ([0], 2, 2)


async def test_cancelled_stream_cancels_the_running_tool() -> None:
    kit = Kit(is_async=True)
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def forever() -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return ""

    stream = loop(kit, chunked_model(kit, [answer_calling("clock")])).next_stream(
        request(RecordingTools().tool("clock", forever))
    )
    reader = asyncio.create_task(kit.all(stream))
    await asyncio.wait_for(started.wait(), 30)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert cancelled.is_set()
