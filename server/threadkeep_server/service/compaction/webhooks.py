"""Plans of webhooks: HTTP endpoints that the operator has configured by name.

A caller names a webhook and never an address. The plan of an endpoint is checked like that of a caller, and it can archive only
events that the endpoint was sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ...compaction.plan import Plan
from ...compaction.strategies.outside import Webhook
from ...compaction.triggers import Trigger
from ...domain.errors import InvalidField, ThreadkeepError, WebhookFailed
from ...domain.model import NO_COUNTERS, EventDraft, counted
from ...providers.errors import ProviderError
from ...store.contract.compaction import Inserts, WindowRead
from ..run_in_thread import run_in_thread
from .plan_laws import PlanLaws
from .prepared import Prepared

# Encoding takes about as long as reading; a larger window delays other calls.
_MOST_EVENTS = 20


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a webhook is sent: the window of a session, and the trigger that fired, None: none was set."""

    webhook: str
    tenant: str
    read: WindowRead
    trigger: Trigger | None
    branch: str


class EncodedRequest(NamedTuple):
    """`request_id`: digest of the request. `sent`: how many events of the window, the oldest, it contains."""

    request_id: str
    body: bytes
    sent: int


class DecodedPlan(NamedTuple):
    """The events to archive by id, and those to insert by the id of the event that follows; None: the end of what was sent."""

    archive: Sequence[str]
    inserts: Mapping[str | None, Sequence[EventDraft]]


class PlanEncoder(Protocol):
    """Encodes requests and decodes answers."""

    def encode(self, request: PlanRequest) -> EncodedRequest: ...

    def decode(self, answer: bytes, branch: str) -> DecodedPlan:
        """Raises InvalidField, EventTooLarge, BatchTooLarge."""
        ...


class Endpoints(Protocol):
    """The configured webhooks."""

    def allows(self, webhook: str, tenant: str | None) -> bool:
        """Whether there is such a webhook and the tenant may use it; None: some tenant."""
        ...

    async def post(self, webhook: str, request_id: str, body: bytes) -> bytes:
        """Returns the body of the answer. Raises ProviderError."""
        ...


@dataclass(slots=True)
class WebhookStats:
    """`plans`: plans that were requested; `failures`: those that were not received or not valid."""

    plans: int = 0
    failures: int = 0


def planner_of(
    planner: WebhookPlanner | None, tenant: str, strategy: Webhook, field: str = "strategy.webhook.name"
) -> WebhookPlanner:
    """Returns the planner. Raises InvalidField for a webhook that is not configured, or not for the tenant."""
    if planner is None or not planner.allows(strategy, tenant):
        problem = f"is {strategy.webhook!r}: the server has no such webhook for the tenant; see compaction_webhooks_file"
        raise InvalidField(field, problem)
    return planner


class WebhookPlanner:
    """Requests plans, and checks them."""

    def __init__(self, endpoints: Endpoints, encoder: PlanEncoder, laws: PlanLaws, stats: WebhookStats) -> None:
        self._endpoints = endpoints
        self._encoder = encoder
        self._laws = laws
        self._stats = stats

    def allows(self, strategy: Webhook, tenant: str) -> bool:
        return self._endpoints.allows(strategy.webhook, tenant)

    def knows(self, strategy: Webhook) -> bool:
        """Whether the webhook is configured."""
        return self._endpoints.allows(strategy.webhook, None)

    async def plan(self, request: PlanRequest) -> Prepared:
        """Returns a valid plan, which may be empty. Raises WebhookFailed."""
        self._stats.plans += 1
        try:
            return await self._plan(request)
        except ProviderError as failed:
            problem = failed.problem
        except ThreadkeepError as invalid:
            problem = f"returned a plan that is not valid: {invalid.message}"
        except BaseException:  # canceled: the server stops, or the caller left
            self._stats.failures += 1
            raise
        self._stats.failures += 1
        raise WebhookFailed(request.webhook, problem)

    async def _plan(self, request: PlanRequest) -> Prepared:
        read = request.read
        if not read.events:
            return _prepared(read, (), {})
        encoded = await run_in_thread(len(read.events), _MOST_EVENTS, self._encoder.encode, request)
        if not encoded.sent:
            raise ProviderError("was not called: the oldest event alone exceeds compaction_webhook_request_bytes")
        answer = await self._endpoints.post(request.webhook, encoded.request_id, encoded.body)
        decoded = await run_in_thread(len(answer), 1 << 16, self._encoder.decode, answer, request.branch)
        inserts = _placed(read, encoded.sent, decoded)
        await self._laws.check(read.session.ref, read, decoded.archive, inserts, request.branch)
        return _prepared(read, decoded.archive, inserts, request.webhook)


def _placed(read: WindowRead, sent: int, decoded: DecodedPlan) -> Inserts:
    """Returns the inserts, with a place for those without one. Raises InvalidField for events that the webhook was not sent, or
    that do not stay."""
    known = {event.event_id for event in read.events[:sent]}
    for index, event_id in enumerate(decoded.archive):
        if event_id not in known:
            raise InvalidField(f"archive_event_ids[{index}]", "names an event that the request did not contain")
    staying = known.difference(decoded.archive)
    for before in decoded.inserts:
        if before is not None and before not in staying:
            problem = f"are before event {before!r}, which the request did not contain or the plan archives"
            raise InvalidField("inserts", problem)
    if sent == len(read.events) or None not in decoded.inserts:
        return decoded.inserts
    return {(read.events[sent].event_id if before is None else before): made for before, made in decoded.inserts.items()}


def _prepared(read: WindowRead, archive: Sequence[str], inserts: Inserts, webhook: str = "") -> Prepared:
    before = read.session.window
    gone = set(archive)
    added = sum((draft.counters for drafts in inserts.values() for draft in drafts), NO_COUNTERS)
    after = before - counted([event for event in read.events if event.event_id in gone]) + added
    plan = Plan(
        archive=tuple(archive),
        inserts=dict.fromkeys(inserts, ()),  # the events are drafts already
        strategy=f"webhook:{webhook}",
        tokens_before=before.tokens,
        tokens_after=after.tokens,
    )
    return Prepared(plan, inserts, read.session, after)
