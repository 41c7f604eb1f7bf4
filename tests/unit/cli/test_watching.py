"""How changes are printed, and how a tail survives restarts of the server."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncGenerator, Callable

import pytest
from rich.console import Console

import threadkeep
from threadkeep import Compaction, EventBatch, SessionEvent, SessionRef, SessionVersions, WindowCounters
from threadkeep.cli import main
from threadkeep.cli.commands.watch import Tail
from threadkeep.cli.render.changes import ChangeLines, change_json, in_brief
from threadkeep.errors import InvalidResumeToken, ServerDraining, Unavailable
from threadkeep.v1 import event_removal_pb2 as rm
from threadkeep.v1 import subscription_pb2 as su
from threadkeep.v1.state_pb2 import STATE_SCOPE_SESSION, STATE_SCOPE_USER
from threadkeep.v1.subscription_pb2 import Change
from threadkeep.values.changes import typed

ALICE = SessionRef(app="shop", user_id="alice", session_id="s")
VERSIONS = SessionVersions(log_version=3, last_seq=4, window=WindowCounters(events=4, turns=1, bytes=99, tokens=1200))


def stored(seq: int, event: SessionEvent) -> SessionEvent:
    event.seq = seq
    event.record_time.FromJsonString("2026-01-02T03:04:05Z")
    return event


def batch(*events: SessionEvent) -> Change:
    numbered = [stored(seq, each) for seq, each in enumerate(events, 1)]
    return Change(session=ALICE, batch=EventBatch(events=numbered), versions=VERSIONS, resume_token="t1")


def happened(kind: su.SessionChangeKind.ValueType) -> Change:
    session = threadkeep.Session(ref=ALICE, labels={"team": "blue"})
    return Change(session=ALICE, session_change=su.SessionChange(kind=kind, session=session))


def compacted() -> Change:
    done = Compaction(
        strategy="recursive_summary",
        actor="worker",
        archived_events=9,
        before=WindowCounters(turns=12, tokens=9000),
        after=WindowCounters(turns=3, tokens=1200),
    )
    inserted = [stored(10, threadkeep.assistant("They met.", synthetic=True))]
    return Change(session=ALICE, compaction=su.CompactionNotice(compaction=done, inserted=inserted), versions=VERSIONS)


def drawn(*changes: Change, width: int | None = None, app: bool = True, user: bool = True, session: bool = True) -> list[str]:
    """The lines: plain ones, or those of a terminal of this width without colors."""
    screen = Console(file=io.StringIO(), width=width or 1000, force_terminal=width is not None, color_system=None)
    lines = ChangeLines(screen, app=app, user=user, session=session)
    for change in changes:
        lines.show(change)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue().splitlines()


def test_an_append_is_printed_as_one_line_per_event_with_the_counters_on_the_last() -> None:
    call = threadkeep.assistant(tool_calls=[threadkeep.tool_call("c", "look", {})], author="planner")
    first, second, third = drawn(
        batch(threadkeep.user("Where\nis it?"), call, threadkeep.tool_result("c", "here", name="look"))
    )
    assert first.endswith("  shop/alice/s  #1  user       Where is it?")
    assert second.endswith("  #2  assistant  planner: → look({})")
    assert third.endswith("  #3  tool       ← look: here  1 turn, ~1,200 tokens")


@pytest.mark.parametrize(
    ("named_by", "name"),
    [((True, True, True), "  shop/alice/s  "), ((False, True, True), "  alice/s  "), ((False, False, False), ":05  #1")],
)
def test_changes_name_the_session_by_the_enabled_fields(named_by: tuple[bool, bool, bool], name: str) -> None:
    app, user, session = named_by
    (line,) = drawn(batch(threadkeep.user("hi")), app=app, user=user, session=session)
    assert name in line


@pytest.mark.parametrize("text", ["word " * 100, "漢字" * 100, "short"])
@pytest.mark.parametrize("width", [50, 80, 120])
def test_a_line_fits_the_terminal(text: str, width: int) -> None:
    (line,) = drawn(batch(threadkeep.user(text)), width=width, app=False, user=False)
    assert Console().render_str(line, markup=False).cell_len <= width
    assert ("tokens" in line) == (width > 80)
    assert text[:5] in line


def test_terminal_control_sequences_are_not_printed() -> None:
    (line,) = drawn(batch(threadkeep.user("\x1b[2J", author="a\x1bb\n")))
    assert "\x1b" not in line
    assert "a\ufffdb: \ufffd[2J" in line


def test_a_session_change_is_printed_on_its_own_line() -> None:
    kinds = [su.SESSION_CHANGE_KIND_CREATED, su.SESSION_CHANGE_KIND_UPDATED]
    kinds += [su.SESSION_CHANGE_KIND_EXPIRED, su.SESSION_CHANGE_KIND_DELETED]
    lines = drawn(*map(happened, kinds), app=False, user=False)
    assert [line.split() for line in lines] == [
        ["s", name, "team=blue"] for name in ("created", "updated", "expired", "deleted")
    ]
    done, summary = drawn(compacted(), app=False, user=False)
    assert "compacted  12 → 3 turns, ~9,000 → 1,200 tokens, 9 events archived  recursive_summary, worker" in done
    assert summary.endswith("#10  assistant  They met.")


def test_state_and_removals_are_printed_on_their_own_lines() -> None:
    state = su.StateChange(scope=STATE_SCOPE_SESSION, version=3, set={"seat": '"a\x1b"'}, removed=["cart"])
    with_state = batch(threadkeep.user("hi"))
    with_state.batch.state.CopyFrom(state)
    of_user = su.StateChange(scope=STATE_SCOPE_USER, version=2, omitted=True)
    popped = rm.RemovalNotice(kind=rm.REMOVAL_KIND_POPPED, erased=True, removed=12, seqs=range(1, 13))
    cleared = rm.RemovalNotice(kind=rm.REMOVAL_KIND_CLEARED, removed=1234, through_seq=5000)
    replaced = rm.RemovalNotice(
        kind=rm.REMOVAL_KIND_REPLACED, removed=1, seqs=[4], inserted=[stored(5, threadkeep.user("new"))]
    )
    changes = [with_state, Change(session=ALICE, state=of_user)]
    changes += [Change(session=ALICE, removal=each) for each in (popped, cleared, replaced)]
    lines = drawn(*changes, app=False, user=False, session=False)
    assert [line.strip() for line in lines[1:6]] == [
        'state  version 3  seat="a\ufffd"  removed cart',
        "state of the user  version 2  values of more than 16 KiB",
        "popped  12 events, erased  #1, #2, #3, #4, #5, #6, #7, #8, #9, #10, …",
        "cleared  1,234 events  up to #5000",
        "replaced  1 event  #4",
    ]
    assert lines[6].endswith("#5  user       new")
    assert [in_brief(each) for each in changes[1:]] == ["state", "popped", "cleared", "replaced"]
    found = change_json(with_state)["batch"]["state"]
    assert found == {"scope": "session", "version": 3, "set": {"seat": '"a\x1b"'}, "removed": ["cart"]}
    assert change_json(changes[1])["state"] == {"scope": "user", "version": 2, "omitted": True}
    assert [change_json(each)["removal"]["kind"] for each in changes[2:]] == ["popped", "cleared", "replaced"]
    assert change_json(changes[4])["removal"]["inserted"][0]["text"] == "new"


def test_an_append_without_a_matching_event_is_printed_by_its_state() -> None:
    only_state = Change(session=ALICE, batch=EventBatch(state=su.StateChange(version=1, deleted=True)), versions=VERSIONS)
    assert [line.strip() for line in drawn(only_state, app=False, user=False, session=False)] == ["state  version 1  deleted"]


def test_changes_for_programs() -> None:
    found = change_json(batch(threadkeep.user("hi", event_id="e")))
    assert found["session"] == {"app": "shop", "user_id": "alice", "session_id": "s"}
    assert [(each["seq"], each["event_id"], each["text"]) for each in found["batch"]["events"]] == [(1, "e", "hi")]
    window = {"events": 4, "turns": 1, "bytes": 99, "tokens": 1200}
    assert found["versions"] == {"log_version": 3, "window_version": 0, "last_seq": 4, "window": window}
    assert found["resume_token"] == "t1"
    assert change_json(happened(su.SESSION_CHANGE_KIND_EXPIRED))["session_change"]["kind"] == "expired"
    (inserted,) = change_json(compacted())["compaction"]["inserted"]
    assert inserted["text"] == "They met."
    json.dumps([found, change_json(compacted())])


def test_changes_in_brief() -> None:
    assert in_brief(batch(threadkeep.user("a"))) == "seq 1"
    assert in_brief(batch(threadkeep.user("a"), threadkeep.user("b"))) == "seq 1 to 2"
    assert in_brief(Change(session=ALICE, batch=EventBatch())) == "events that are gone"
    assert in_brief(compacted()) == "compaction"
    assert in_brief(happened(su.SESSION_CHANGE_KIND_DELETED)) == "deleted"


Scripted = list[Change | Exception]


def change(token: str) -> Change:
    return Change(resume_token=token, session_change=su.SessionChange(kind=su.SESSION_CHANGE_KIND_UPDATED))


def checkpoint(token: str) -> Change:
    return Change(resume_token=token, checkpoint=su.Checkpoint(kind=su.CHECKPOINT_KIND_STARTED))


@pytest.fixture
def tailed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[list[str], list[str | None], str]]:
    """Follows streams that are scripted, without pauses: what was shown, where each began, and the notes."""

    async def no_pause(seconds: float) -> None:
        assert seconds >= 0

    def follow(*streams: Scripted, count: int = 0, token: str | None = None) -> tuple[list[str], list[str | None], str]:
        left, begun, shown, notes = iter(streams), list[str | None](), list[str](), io.StringIO()

        async def begin(reached: str | None) -> AsyncGenerator[threadkeep.Change]:
            begun.append(reached)
            for each in next(left):
                if isinstance(each, Exception):
                    raise each
                yield typed(each)

        tail = Tail(lambda each: shown.append(each.resume_token), Console(file=notes), token)
        with monkeypatch.context() as patch:
            patch.setattr(asyncio, "sleep", no_pause)
            asyncio.run(tail.follow(begin, count))
        return shown, begun, notes.getvalue()

    return follow


def test_a_tail_resumes_after_an_outage_and_reports_it_once(
    tailed: Callable[..., tuple[list[str], list[str | None], str]],
) -> None:
    shown, begun, notes = tailed(
        [checkpoint("c1"), change("t1"), Unavailable("gone")],
        [Unavailable("still")],
        [ServerDraining("not yet", retry_after=1.0)],
        [checkpoint("c2"), Unavailable("again")],
        [change("t3")],
        count=2,
    )
    assert shown == ["t1", "t3"]
    assert begun == [None, "t1", "t1", "t1", "c2"]
    assert notes.splitlines() == ["server gone, retrying", "back", "server gone, retrying", "back"]


def test_a_tail_with_a_token_starts_at_its_position(tailed: Callable[..., tuple[list[str], list[str | None], str]]) -> None:
    assert tailed([change("t2")], count=1, token="t1")[1] == ["t1"]


def test_a_server_that_never_answered_is_an_error(tailed: Callable[..., tuple[list[str], list[str | None], str]]) -> None:
    with pytest.raises(Unavailable):
        tailed([Unavailable("nobody")])


def test_a_permanent_error_ends_the_tail(tailed: Callable[..., tuple[list[str], list[str | None], str]]) -> None:
    with pytest.raises(InvalidResumeToken):
        tailed([change("t1"), Unavailable("gone")], [InvalidResumeToken("another store")])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "give SESSION, --user or --all-users"),
        (["s", "--all-users"], "either SESSION"),
        (["--all-users", "--user", "alice"], "either --user or --all-users"),
        (["--all-users", "-n", "3"], "give SESSION"),
        (["--user", "alice", "--after-seq", "3"], "give SESSION"),
        (["s", "-n", "3", "--from-beginning"], "at most one"),
        (["s", "--resume-token", "t", "--after-seq", "3"], "at most one"),
        (["--label", "x"], "KEY=VALUE"),
    ],
)
def test_wrong_usage_names_the_missing_argument(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_watch_without_a_server_suggests_serve(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "--all-users", "--address", "127.0.0.1:1"]) == 4
    assert "threadkeep serve" in capsys.readouterr().err
