from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import pytest

import threadkeep
from threadkeep import CompactionStrategy, CompactionTrigger, GetContextResponse, LogVersion, SummaryPrompt, compaction, errors
from threadkeep.v1 import compaction_pb2 as c
from threadkeep.v1 import compaction_service_pb2 as cs
from threadkeep.v1.message_pb2 import Role

from .fake import Fail, FakeServer

LOST = Fail(grpc.StatusCode.ABORTED, "VERSION_MISMATCH", session_id="s1", expected="3", actual="4")
DOWN = Fail(grpc.StatusCode.UNAVAILABLE)


def planned(digest: str = "d1", *, version: int = 3) -> cs.PlanCompactionResponse:
    """A plan that needs a summary."""
    shadow, summary = threadkeep.user("So far?", event_id="n1"), threadkeep.assistant("", event_id="n2")
    return cs.PlanCompactionResponse(
        plan=c.CompactionPlan(
            archive_event_ids=["e1", "e2"],
            inserts=[c.CompactionInsert(before_event_id="e3", events=[shadow, summary])],
            summary_prompt=SummaryPrompt(prompt="what was said", digest=digest),
            strategy="recursive_summary",
            branch="b",
        ),
        window_version=version,
    )


def trimming() -> cs.PlanCompactionResponse:
    """A plan that needs no summary."""
    stub = threadkeep.tool_result("c1", "gone", event_id="n1")
    inserts = [c.CompactionInsert(before_event_id="e3", events=[stub])]
    return cs.PlanCompactionResponse(plan=c.CompactionPlan(archive_event_ids=["e2"], inserts=inserts), window_version=3)


@pytest.fixture
def summarizer(flavor: str) -> Callable[..., Any]:
    """Makes a summarizer for the client's flavor, and the list of prompts that it received."""

    def make(*answers: str) -> tuple[Any, list[str]]:
        left, requested = list(answers), []

        def answer(prompt: SummaryPrompt) -> str:
            requested.append(prompt.prompt)
            return left.pop(0)

        async def answer_later(prompt: SummaryPrompt) -> str:
            return answer(prompt)

        return (answer_later if flavor == "async" else answer), requested

    return make


def test_triggers() -> None:
    built = compaction.any_of(
        compaction.turns_over(10),
        compaction.all_of(compaction.tokens(100_000), compaction.size(9), compaction.events(40)),
    )
    first, second = built.any_of.triggers
    assert first == CompactionTrigger(turns_over=10)
    assert [each.WhichOneof("kind") for each in second.all_of.triggers] == ["tokens", "bytes", "events"]
    assert [second.all_of.triggers[0].tokens, second.all_of.triggers[1].bytes, second.all_of.triggers[2].events] == [
        100_000,
        9,
        40,
    ]


def test_strategies() -> None:
    trim, summary = (
        compaction.trim_tool_results(2, min_tokens=5),
        compaction.recursive_summary(10, overlap=0, system_prompt="s"),
    )
    assert compaction.pipeline(trim, summary) == CompactionStrategy(pipeline=c.StrategyPipeline(steps=[trim, summary]))
    assert (trim.trim_tool_results.keep_turns, trim.trim_tool_results.min_tokens) == (2, 5)
    assert summary.recursive_summary == c.RecursiveSummary(max_events_to_keep=10, overlap=0, system_prompt="s")
    assert summary.recursive_summary.HasField("overlap")
    assert compaction.sliding_window(20).sliding_window.max_events == 20
    assert compaction.turn_window(5).turn_window.max_turns == 5
    assert compaction.token_budget(7).token_budget.max_tokens == 7
    assert compaction.webhook("summaries") == CompactionStrategy(webhook=c.WebhookStrategy(name="summaries"))
    assert compaction.compacted_by("me") == CompactionStrategy(consumer=c.ConsumerStrategy(name="me"))


def test_a_plan_has_what_leaves_and_what_comes() -> None:
    plan = compaction.plan(["a", "b"], compaction.summarized("They met.", before="c"))
    assert list(plan.archive_event_ids) == ["a", "b"]
    [insert] = plan.inserts
    assert (insert.before_event_id, [event.synthetic for event in insert.events]) == ("c", [True, True])
    assert insert.events[1].message.parts[0].text == "They met."


@pytest.mark.parametrize(
    ("strategy", "kind"),
    [
        (compaction.sliding_window(), "sliding_window"),
        (compaction.turn_window(), "turn_window"),
        (compaction.token_budget(), "token_budget"),
        (compaction.recursive_summary(), "recursive_summary"),
        (compaction.trim_tool_results(), "trim_tool_results"),
    ],
)
def test_omitted_fields_are_left_to_the_server(strategy: CompactionStrategy, kind: str) -> None:
    assert strategy.WhichOneof("kind") == kind
    assert getattr(strategy, kind).ListFields() == []


async def test_compact_sends_what_it_was_given(client: Any, fake: FakeServer) -> None:
    strategy, trigger = compaction.turn_window(3), compaction.turns_over(5)
    fake.answers["CompactSession"] = [cs.CompactSessionResponse(compacted=True), DOWN]
    answer = await client.compact("s1", strategy, trigger=trigger, branch="b", dry_run=True, actor="me")
    assert answer.compacted
    with pytest.raises(errors.Unavailable):
        await client.compact("s1")
    first, second = fake.requests("CompactSession")
    assert (first.strategy, first.trigger, first.branch, first.dry_run, first.actor) == (strategy, trigger, "b", True, "me")
    assert (second.HasField("strategy"), second.HasField("trigger")) == (False, False)


async def test_a_plan_is_applied_as_it_was_made(client: Any, fake: FakeServer) -> None:
    plan = planned()
    fake.answers["PlanCompaction"] = [plan]
    assert await client.plan_compaction("s1", compaction.recursive_summary(), branch="b") == plan
    assert fake.requests("PlanCompaction")[0].branch == "b"
    fake.answers["ApplyCompaction"] = [DOWN, cs.ApplyCompactionResponse(applied=True)]
    assert (await client.apply_compaction("s1", plan, summary="They met.", actor="me", expect=LogVersion(0))).applied
    sent, again = fake.requests("ApplyCompaction")
    assert sent == again
    assert sent.compaction_id
    assert (sent.expected_window_version, sent.HasField("expected_log_version")) == (3, True)
    assert (list(sent.event_ids.ids), sent.branch, sent.strategy) == (["e1", "e2"], "b", "recursive_summary")
    assert [threadkeep.text_of(event) for event in sent.inserts[0].events] == ["So far?", "They met."]
    assert threadkeep.text_of(plan.plan.inserts[0].events[1]) == ""


async def test_a_plan_made_by_the_caller_is_applied(client: Any, fake: FakeServer) -> None:
    new = threadkeep.assistant("s", event_id="n", synthetic=True, compaction_source="mine")
    inserts = [compaction.insert(new, before="e9")]
    await client.apply_compaction("s1", through_seq=7, expected_window_version=0, inserts=inserts, strategy="mine")
    options = {"compaction_id": "c1", "report_mismatch": True, "dry_run": True}
    await client.apply_compaction("s1", archive=["e1"], expected_window_version=2, **options)
    first, second = fake.requests("ApplyCompaction")
    assert (first.through_seq, list(first.inserts), first.strategy) == (7, inserts, "mine")
    assert (list(second.event_ids.ids), second.expected_window_version, second.compaction_id) == (["e1"], 2, "c1")
    assert (second.report_mismatch, second.dry_run) == (True, True)
    with pytest.raises(ValueError, match="expected_window_version"):
        await client.apply_compaction("s1", archive=["e1"])
    with pytest.raises(ValueError, match="not both"):
        await client.apply_compaction("s1", planned(), summary="s", through_seq=7)
    with pytest.raises(ValueError, match="either archive or through_seq"):
        await client.apply_compaction("s1", archive=["e1"], through_seq=7, expected_window_version=2)
    with pytest.raises(ValueError, match="requires a summary"):
        await client.apply_compaction("s1", planned())
    with pytest.raises(ValueError, match="requires no summary"):
        await client.apply_compaction("s1", trimming(), summary="s")
    assert len(fake.requests("ApplyCompaction")) == 2


CONTEXT = GetContextResponse(first_seq=26, compactable_through_seq=40, session_last_seq=41, window_version=3, truncated=True)


async def test_apply_compaction_of_a_context_archives_what_the_context_held(client: Any, fake: FakeServer) -> None:
    insert = compaction.insert(threadkeep.assistant("s", synthetic=True, compaction_source="mine"))
    await client.apply_compaction("s1", context=CONTEXT, summary="They met.", branch="b", actor="me")
    await client.apply_compaction("s1", context=CONTEXT, inserts=[insert], through_seq=30)
    first, second = fake.requests("ApplyCompaction")
    assert (first.from_seq, first.through_seq, first.expected_window_version) == (26, 40, 3)
    requested, said = first.inserts[0].events
    assert (threadkeep.text_of(said), said.message.role, requested.message.role) == (
        "They met.",
        Role.ROLE_ASSISTANT,
        Role.ROLE_USER,
    )
    assert all(each.synthetic and each.compaction_source and each.branch == "b" for each in (requested, said))
    assert (second.from_seq, second.through_seq, list(second.inserts)) == (26, 30, [insert])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"summary": " "}, "either the summary of the context, which is not blank, or inserts"),
        ({"summary": "s", "inserts": [compaction.insert(threadkeep.user("x"))]}, "either the summary"),
        ({"summary": "s", "through_seq": 41}, "through_seq must be from 26 to 40, which the context contains, not 41"),
        ({"summary": "s", "through_seq": 25}, "must be from 26 to 40"),
        ({"summary": "s", "archive": ["e1"]}, "either a context, or a plan, or the events to archive"),
        ({"summary": "s", "from_seq": 1}, "either a context"),
        ({"summary": "s", "expected_window_version": 3}, "either a context"),
        ({"summary": "s", "planned": planned()}, "either a context"),
    ],
)
async def test_apply_compaction_of_a_context_refuses_what_would_archive_more(client: Any, given: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        await client.apply_compaction("s1", context=CONTEXT, **given)


async def test_apply_compaction_of_a_context_without_compactable_events_is_an_error(client: Any, fake: FakeServer) -> None:
    with pytest.raises(errors.NothingToCompact, match=r"no event that a summary may replace \(compactable_through_seq is 0\)"):
        await client.apply_compaction("s1", context=GetContextResponse(window_version=3), summary="s")
    assert not fake.requests("ApplyCompaction")


async def test_from_seq_without_through_seq_is_refused(client: Any) -> None:
    with pytest.raises(ValueError, match="from_seq goes with through_seq"):
        await client.apply_compaction("s1", archive=["e1"], from_seq=1, expected_window_version=2)


async def test_a_mismatch_is_an_exception_unless_it_is_to_be_reported(client: Any, fake: FakeServer) -> None:
    fake.answers["ApplyCompaction"] = [LOST, cs.ApplyCompactionResponse(applied=False, window_version=4)]
    with pytest.raises(errors.VersionMismatch):
        await client.apply_compaction("s1", trimming())
    assert (await client.apply_compaction("s1", trimming(), report_mismatch=True)).window_version == 4


async def test_compacting_with_the_callers_model(client: Any, fake: FakeServer, summarizer: Callable[..., Any]) -> None:
    summarize, requested = summarizer("They met.")
    fake.answers["PlanCompaction"] = [planned()]
    fake.answers["ApplyCompaction"] = [cs.ApplyCompactionResponse(applied=True, compaction=c.Compaction(archived_events=2))]
    done = await client.compact_with("s1", summarize, compaction.recursive_summary(4), branch="b", actor="me")
    assert (done.archived_events, requested) == (2, ["what was said"])
    (request,) = fake.requests("ApplyCompaction")
    assert (threadkeep.text_of(request.inserts[0].events[1]), request.actor) == ("They met.", "me")


async def test_after_a_lost_race_the_same_prompt_is_not_sent_twice(
    client: Any, fake: FakeServer, summarizer: Callable[..., Any]
) -> None:
    summarize, requested = summarizer("first", "second")
    fake.answers["PlanCompaction"] = [planned(version=3), planned(version=4), planned("d2", version=5)]
    fake.answers["ApplyCompaction"] = [LOST, LOST, cs.ApplyCompactionResponse(applied=True)]
    assert await client.compact_with("s1", summarize) is not None
    applied = fake.requests("ApplyCompaction")
    assert [each.expected_window_version for each in applied] == [3, 4, 5]
    texts = [threadkeep.text_of(each.inserts[0].events[1]) for each in applied]
    assert (texts, len(requested)) == (["first", "first", "second"], 2)


async def test_after_the_last_lost_race_the_mismatch_is_raised(
    client: Any, fake: FakeServer, summarizer: Callable[..., Any]
) -> None:
    summarize, requested = summarizer("first")
    fake.answers["PlanCompaction"] = [planned(), planned(), planned()]
    fake.answers["ApplyCompaction"] = [LOST, LOST, LOST]
    with pytest.raises(errors.VersionMismatch):
        await client.compact_with("s1", summarize, attempts=2)
    assert (len(fake.requests("ApplyCompaction")), len(requested)) == (2, 1)
    with pytest.raises(ValueError, match="attempts"):
        await client.compact_with("s1", summarize, attempts=0)


async def test_no_model_is_called_without_need(client: Any, fake: FakeServer, summarizer: Callable[..., Any]) -> None:
    summarize, requested = summarizer()
    assert await client.compact_with("s1", summarize) is None
    assert fake.requests("ApplyCompaction") == []
    fake.answers["PlanCompaction"] = [trimming()]
    assert await client.compact_with("s1", summarize, compaction.trim_tool_results()) is not None
    assert len(fake.requests("ApplyCompaction")) == 1
    assert requested == []


async def test_a_blank_summary_changes_nothing(client: Any, fake: FakeServer, summarizer: Callable[..., Any]) -> None:
    fake.answers["PlanCompaction"] = [planned()]
    with pytest.raises(ValueError, match="blank"):
        await client.compact_with("s1", summarizer(" \n")[0])
    assert fake.requests("ApplyCompaction") == []


async def test_replacing_is_sent_once(client: Any, fake: FakeServer) -> None:
    fake.answers["ReplaceEvents"] = [cs.ReplaceEventsResponse(replaced=False, log_version=9), DOWN]
    kept, new = threadkeep.user("a", event_id="e1"), threadkeep.assistant("b")
    answer = await client.replace_events("s1", kept, new, expect=LogVersion(8), strategy="mine", actor="me", dry_run=True)
    assert (answer.replaced, answer.log_version) == (False, 9)
    (request,) = fake.requests("ReplaceEvents")
    assert (request.events[0], bool(request.events[1].event_id)) == (kept, True)
    assert (request.expected_log_version, request.strategy, request.actor, request.dry_run) == (8, "mine", "me", True)
    with pytest.raises(errors.Unavailable):
        await client.replace_events("s1", expect=LogVersion(8))
    assert len(fake.requests("ReplaceEvents")) == 2


async def test_compactions_are_listed_page_after_page(client: Any, fake: FakeServer) -> None:
    one, two = c.Compaction(compaction_id="1"), c.Compaction(compaction_id="2")
    fake.answers["ListCompactions"] = [
        cs.ListCompactionsResponse(compactions=[one], next_page_token="t"),
        cs.ListCompactionsResponse(compactions=[two]),
    ]
    assert [each async for each in client.compactions("s1", page_size=1)] == [one, two]
    assert [(each.page_token, each.page_size) for each in fake.requests("ListCompactions")] == [("", 1), ("t", 1)]


async def test_policies_are_for_one_scope(client: Any, fake: FakeServer) -> None:
    policy = compaction.policy(compaction.turns_over(40), compaction.turn_window(20))
    handles = [
        client.session("s1").policy(),
        client.user_policy(),
        client.user_policy("bob", any_app=True),
        client.user_policy("bob", app=""),
        client.app_policy(),
        client.app_policy("bank"),
        client.server_policy(),
    ]
    for handle in handles:
        await handle.set(policy)
        await handle.get()
        await handle.remove()
    wanted = [
        cs.PolicyScope(session=threadkeep.SessionRef(app="shop", user_id="alice", session_id="s1")),
        cs.PolicyScope(user=cs.UserPolicyScope(user_id="alice", app="shop")),
        cs.PolicyScope(user=cs.UserPolicyScope(user_id="bob")),
        cs.PolicyScope(user=cs.UserPolicyScope(user_id="bob", app="")),
        cs.PolicyScope(app="shop"),
        cs.PolicyScope(app="bank"),
        cs.PolicyScope(server=True),
    ]
    sent = fake.requests("SetCompactionPolicy")
    assert [each.scope for each in sent[::2]] == [each.scope for each in sent[1::2]] == wanted
    assert [each.scope for each in fake.requests("GetCompactionPolicy")] == wanted
    assert all(each.policy == policy for each in sent[::2])
    assert not any(each.HasField("policy") for each in sent[1::2])


async def test_a_missing_policy_argument_does_not_remove_the_policy(client: Any, fake: FakeServer) -> None:
    with pytest.raises(TypeError, match="policy must be CompactionPolicy, not NoneType"):
        await client.session("s1").policy().set(None)
    await client.session("s1").policy().set(compaction.disabled())
    assert fake.requests("SetCompactionPolicy")[0].policy.disabled
