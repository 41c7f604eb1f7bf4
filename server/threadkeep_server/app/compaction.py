"""Composition of compaction: token counter, summarizer, policies and their execution."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from threadkeep.messages import new_event_id

from ..compaction.strategies.outside import Webhook
from ..config.settings import ConfigError, Settings
from ..domain.errors import InvalidField
from ..domain.validation import Limits
from ..providers.logging import quiet_vendor_loggers
from ..providers.measured import MeasuredSummarizer, Meter
from ..providers.summarizers.base import Summarizer
from ..providers.summarizers.factory import open_summarizer
from ..providers.summarizers.options import SummarizerOptions
from ..providers.tokenizers import TokenCounter, token_counter
from ..service.compaction.auto_compaction import AutoCompactor
from ..service.compaction.compaction_runner import CompactionRunner
from ..service.compaction.consumer_requests import ConsumerRequests, RequestStats
from ..service.compaction.policies import PolicyBook, PolicyService
from ..service.compaction.requests import CompactionService
from ..service.compaction.webhooks import WebhookPlanner, WebhookStats
from ..store.contract.codec import Codec
from ..store.contract.store import Store
from ..telemetry.meters import Meters
from ..transport.convert.events import DraftMaker
from ..transport.convert.strategies import policy_from_json, stored_policy
from ..transport.convert.summary_events import SummaryEncoder
from ..transport.http.metrics import CompactionStats
from .webhooks import open_webhooks

_LONGEST_COMPACTION_S = 300.0


@dataclass(frozen=True, slots=True)
class CompactionServices:
    """The use cases of compaction. `stats`: for the metrics. `model` is the model of the summarizer; empty without one."""

    compaction: CompactionService
    policies: PolicyService
    requests: ConsumerRequests
    stats: Callable[[], CompactionStats]
    model: str


def open_counter(settings: Settings) -> TokenCounter:
    """Returns the configured token counter. Raises ConfigError."""
    try:
        return token_counter(settings.token_counter)
    except ValueError as error:
        raise ConfigError([f"token_counter: {error}"]) from None


@asynccontextmanager
async def open_compaction(
    settings: Settings, store: Store, codec: Codec, counter: TokenCounter, limits: Limits, meters: Meters
) -> AsyncIterator[CompactionServices]:
    """Runs policies while the context is open. Raises ConfigError."""
    async with AsyncExitStack() as stack:
        summarizer = _summarizer(settings, counter)
        if summarizer is not None:
            summarizer = MeasuredSummarizer(summarizer, Meter(meters.provider_duration, "summarizer"))
            stack.push_async_callback(summarizer.aclose)
        make_draft = DraftMaker(new_event_id, counter.count)
        requested, called = RequestStats(), WebhookStats()
        webhooks = await stack.enter_async_context(open_webhooks(settings, limits, make_draft, codec, called, meters))
        composer = SummaryEncoder(make_draft)
        compactor = CompactionRunner(store, composer, counter.count, summarizer, time.time_ns, new_event_id, webhooks)
        book = PolicyBook(store, stored_policy, _default_policy(settings, webhooks))
        await book.refresh()
        requests = ConsumerRequests(store, book, time.time_ns, settings.compaction_answer_time.total_seconds(), requested)
        auto = AutoCompactor(
            store,
            book,
            compactor,
            uuid.uuid4().hex,
            time.time_ns,
            requests,
            workers=settings.compaction_workers,
            longest_s=_longest(settings),
        )
        store.on_append(auto.note)
        for work in (book.run(), auto.run(), requests.run()):
            stack.push_async_callback(end, asyncio.create_task(work))
        yield CompactionServices(
            CompactionService(store, compactor, book, codec, time.time_ns, new_event_id),
            PolicyService(store, book, time.time_ns, webhooks),
            requests,
            lambda: CompactionStats(called.plans, called.failures, requested.waiting, requested.unanswered),
            "" if summarizer is None else summarizer.model,
        )


async def end(task: asyncio.Task[None]) -> None:
    """Cancels a background task and waits until it has ended."""
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _longest(settings: Settings) -> float:
    """Returns the seconds that one session may take: enough for a second summary or plan after a concurrent compaction."""
    deadlines = (settings.summarizer_deadline, settings.compaction_webhook_deadline)
    return max(_LONGEST_COMPACTION_S, *(2 * each.total_seconds() for each in deadlines))


def _default_policy(settings: Settings, webhooks: WebhookPlanner | None) -> bytes | None:
    if not settings.compaction_policy.strip():
        return None
    try:
        body = policy_from_json(settings.compaction_policy)
    except InvalidField as error:
        raise ConfigError([f"compaction_policy: must be JSON of CompactionPolicy: {error.message}"]) from None
    policy = stored_policy(body)
    named = None if policy is None else policy.strategy
    if isinstance(named, Webhook) and (webhooks is None or not webhooks.knows(named)):
        raise ConfigError([f"compaction_policy: there is no webhook {named.webhook!r} in compaction_webhooks_file; add it"])
    return body


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
