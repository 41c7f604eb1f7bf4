"""A policy that summarizes with a model on loopback, and servers with short leases."""

from __future__ import annotations

from collections.abc import Mapping

from tests.support.models.model_endpoint import ModelEndpoint
from threadkeep.v1 import compaction_pb2 as pb
from threadkeep.v1 import compaction_service_pb2 as cs

from .wire import Wire, named

TRIGGER = 600
DEADLINE_S = 20
LEASE_S = 2
"""Extended during a call."""

TRIM = pb.CompactionStrategy(trim_tool_results=pb.TrimToolResults(keep_turns=1, min_tokens=16))
SUMMARIZE = pb.CompactionStrategy(recursive_summary=pb.RecursiveSummary(max_events_to_keep=6, overlap=2))
POLICY = pb.CompactionPolicy(
    trigger=pb.CompactionTrigger(tokens=TRIGGER),
    strategy=pb.CompactionStrategy(pipeline=pb.StrategyPipeline(steps=[TRIM, SUMMARIZE])),
)


def leases_of(seconds: float) -> str:
    """Waits for the lease of a dead server; requires short leases."""
    return (
        "from threadkeep_server.service.compaction import auto_compaction\n"
        f"auto_compaction._LEASE_S, auto_compaction._LEASE_EXTENDED_S = {seconds}, {seconds / 3}\n"
        "auto_compaction._LEASED_DELAY_S = 0.1\n"
    )


def summarizer(model: ModelEndpoint) -> Mapping[str, object]:
    named = {"summarizer": "openai", "summarizer_model": "small", "summarizer_base_url": model.url}
    return named | {"summarizer_api_key": "key", "summarizer_deadline": f"{DEADLINE_S}s"}


async def set_policy(to: Wire, session: str, policy: pb.CompactionPolicy = POLICY) -> None:
    scope = cs.PolicyScope(session=named(session))
    await to.compaction.SetCompactionPolicy(cs.SetCompactionPolicyRequest(scope=scope, policy=policy), timeout=to.seconds)
