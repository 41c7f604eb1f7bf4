"""Composition of compaction: token counter, summarizer, policies and their execution."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from threadkeep.messages import new_event_id

from ..config.settings import ConfigError, Settings
from ..domain.errors import InvalidField
from ..providers.logging import quiet_vendor_loggers
from ..providers.summarizers.base import Summarizer
from ..providers.summarizers.factory import open_summarizer
from ..providers.summarizers.options import SummarizerOptions
from ..providers.tokenizers import TokenCounter, token_counter
from ..service.compaction.auto_compaction import AutoCompactor
from ..service.compaction.compaction_runner import CompactionRunner
from ..service.compaction.policies import PolicyBook, PolicyService
from ..service.compaction.requests import CompactionService
from ..store.contract.codec import Codec
from ..store.contract.store import Store
from ..transport.convert.events import DraftMaker
from ..transport.convert.strategies import policy_from_json, stored_policy
from ..transport.convert.summary_events import SummaryEncoder

_LONGEST_COMPACTION_S = 300.0


@dataclass(frozen=True, slots=True)
class CompactionServices:
    """The use cases of compaction. `model` is the model of the summarizer; empty without one."""

    compaction: CompactionService
    policies: PolicyService
    model: str


def open_counter(settings: Settings) -> TokenCounter:
    """Returns the configured token counter. Raises ConfigError."""
    try:
        return token_counter(settings.token_counter)
    except ValueError as error:
        raise ConfigError([f"token_counter: {error}"]) from None


@asynccontextmanager
async def open_compaction(
    settings: Settings, store: Store, codec: Codec, counter: TokenCounter
) -> AsyncIterator[CompactionServices]:
    """Runs policies while the context is open. Raises ConfigError."""
    async with AsyncExitStack() as stack:
        summarizer = _summarizer(settings, counter)
        if summarizer is not None:
            stack.push_async_callback(summarizer.aclose)
        composer = SummaryEncoder(DraftMaker(new_event_id, counter.count))
        compactor = CompactionRunner(store, composer, counter.count, summarizer, time.time_ns, new_event_id)
        book = PolicyBook(store, stored_policy, _default_policy(settings))
        await book.refresh()
        auto = AutoCompactor(
            store,
            book,
            compactor,
            uuid.uuid4().hex,
            time.time_ns,
            workers=settings.compaction_workers,
            # Enough for a second summary after a concurrent compaction.
            longest_s=max(_LONGEST_COMPACTION_S, 2 * settings.summarizer_deadline.total_seconds()),
        )
        store.on_append(auto.note)
        for work in (book.run(), auto.run()):
            stack.push_async_callback(end, asyncio.create_task(work))
        yield CompactionServices(
            CompactionService(store, compactor, book, codec, time.time_ns, new_event_id),
            PolicyService(store, book, time.time_ns),
            "" if summarizer is None else summarizer.model,
        )


async def end(task: asyncio.Task[None]) -> None:
    """Cancels a background task and waits until it has ended."""
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _default_policy(settings: Settings) -> bytes | None:
    try:
        return policy_from_json(settings.compaction_policy) if settings.compaction_policy.strip() else None
    except InvalidField as error:
        raise ConfigError([f"compaction_policy: must be JSON of CompactionPolicy: {error.message}"]) from None


def _summarizer(settings: Settings, counter: TokenCounter) -> Summarizer | None:
    if not settings.summarizer:
        return None
    try:
        options = SummarizerOptions(
            provider=settings.summarizer,
            model=settings.summarizer_model,
            base_url=settings.summarizer_base_url,
            api_key=settings.summarizer_api_key,
            timeout=settings.summarizer_timeout.total_seconds(),
            deadline=settings.summarizer_deadline.total_seconds(),
            max_attempts=settings.summarizer_attempts,
            max_output_tokens=settings.summarizer_max_output_tokens,
            max_input_tokens=settings.summarizer_max_input_tokens,
            max_tokens_per_hour=settings.summarizer_tokens_per_hour,
        )
        summarizer = open_summarizer(options, counter.count)
    except ValueError as error:
        raise ConfigError([f"summarizer: {error}"]) from None
    quiet_vendor_loggers()
    return summarizer
