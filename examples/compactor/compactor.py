"""Compacts sessions that grow past a threshold. Run any number of processes: they share the sessions."""

from __future__ import annotations

import asyncio
import signal
import sys

from threadkeep import AsyncClient, Delivery, SummaryPrompt, compaction
from threadkeep.errors import SessionNotFound

THRESHOLD = 200  # tokens; a real agent uses about 100,000
STRATEGY = compaction.recursive_summary(4, overlap=1)  # keeps the newest events, summarizes older ones


def summarize(prompt: SummaryPrompt) -> str:
    """Call your model here with `prompt.system_prompt`, `prompt.prompt` and `prompt.max_tokens`. This stand-in returns two
    lines."""
    lines = [line.strip() for line in prompt.prompt.splitlines() if line.strip()]
    return f"From: {lines[0][:60]} To: {lines[-1][:60]}"


async def main(name: str) -> None:
    stop = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stop.set)
    async with AsyncClient() as memory:

        async def handle(delivery: Delivery) -> None:
            change = delivery.change
            if not change.HasField("batch") or change.versions.window.tokens <= THRESHOLD:
                return
            try:
                planned = await memory.plan_compaction(change.session, STRATEGY)
            except SessionNotFound:
                return  # deleted since this change
            if planned.window_version != change.versions.window_version or not planned.plan.archive_event_ids:
                return  # compacted since this change, or too few events to summarize
            summary = summarize(planned.plan.summary_prompt)
            done = await memory.apply_compaction(change.session, planned, summary=summary, actor=name, report_mismatch=True)
            if done.applied:  # otherwise another process compacted first
                before, after = done.compaction.before.tokens, done.compaction.after.tokens
                print(f"{name}: {change.session.session_id}, {before} -> {after} tokens", flush=True)

        await memory.consumer("compactor").run(handle, member_id=name, stop=stop)


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1]))
    except KeyboardInterrupt:
        sys.exit(130)
