"""What a compaction looks like."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

import threadkeep
from threadkeep import Compaction, CompactionInsert, CompactionPlan, SessionEvent, SummaryPrompt, WindowCounters
from threadkeep.cli.render.compaction_chart import Cell, Fate, Picture, cells, merged

KEPT, GONE = Cell(Fate.KEPT, Fate.KEPT), Cell(Fate.ARCHIVED, None)
SUMMARIZED, TRIMMED = Cell(Fate.SUMMARIZED, None), Cell(Fate.TRIMMED, Fate.TRIMMED)
NEW, OLD = Cell(None, Fate.SUMMARY), Cell(Fate.SUMMARY, Fate.SUMMARY)


def window(turns: int) -> list[SessionEvent]:
    """A SYSTEM event `s`, then turns of three events: `u0`, `t0`, `a0`, ..."""
    events = [threadkeep.system("Be kind.", event_id="s")]
    for n in range(turns):
        events += [
            threadkeep.user("?", event_id=f"u{n}"),
            threadkeep.tool_result("c", "!", event_id=f"t{n}"),
            threadkeep.assistant(".", event_id=f"a{n}", branch="helper"),
        ]
    for seq, event in enumerate(events, 1):
        event.seq = seq
    return events


def whole(*turns: int) -> list[str]:
    return [f"{kind}{n}" for n in turns for kind in "uta"]


def summary(before: str, text: str = "They met.") -> CompactionInsert:
    events = [threadkeep.user("So far?", synthetic=True), threadkeep.assistant(text, synthetic=True)]
    return CompactionInsert(before_event_id=before, events=events)


def stub(before: str) -> CompactionInsert:
    return CompactionInsert(before_event_id=before, events=[threadkeep.tool_result("c", "gone", synthetic=True)])


@pytest.mark.parametrize(
    ("plan", "drawn"),
    [
        (CompactionPlan(archive_event_ids=whole(0, 1)), [GONE, GONE, KEPT]),
        (CompactionPlan(archive_event_ids=whole(0, 1), inserts=[summary("u2")]), [SUMMARIZED, SUMMARIZED, NEW, KEPT]),
        (CompactionPlan(archive_event_ids=["t0"], inserts=[stub("a0")]), [TRIMMED, KEPT, KEPT]),
        (CompactionPlan(archive_event_ids=["a1"]), [KEPT, TRIMMED, KEPT]),
        (CompactionPlan(archive_event_ids=["s"]), [KEPT, KEPT, KEPT]),
        (CompactionPlan(archive_event_ids=whole(0, 1, 2), inserts=[summary("")]), [SUMMARIZED] * 3 + [NEW]),
        (
            CompactionPlan(archive_event_ids=[*whole(0), "t1"], inserts=[summary("u1"), stub("a1")]),
            [SUMMARIZED, NEW, TRIMMED, KEPT],
        ),
    ],
)
def test_the_chart_shows_the_outcome_of_each_turn(plan: CompactionPlan, drawn: list[Cell]) -> None:
    assert cells(window(3), plan) == drawn


def test_an_earlier_summary_and_a_greeting_have_their_own_cells() -> None:
    system, *turns = window(2)
    earlier = [
        threadkeep.user("So far?", event_id="q", synthetic=True),
        threadkeep.assistant("Long ago.", event_id="z", synthetic=True),
    ]
    hello = threadkeep.assistant("Hello!", event_id="h")
    assert cells([system, *earlier, *turns], CompactionPlan(archive_event_ids=whole(0))) == [OLD, GONE, KEPT]
    assert cells([*earlier, hello, *turns], CompactionPlan(archive_event_ids=["h"])) == [OLD, GONE, KEPT, KEPT]
    again = CompactionPlan(archive_event_ids=["q", "z", *whole(0)], inserts=[summary("u1")])
    assert cells([system, *earlier, *turns], again) == [SUMMARIZED, SUMMARIZED, NEW, KEPT]


def test_a_question_on_a_branch_starts_no_turn() -> None:
    requested = threadkeep.user("?", event_id="b", branch="helper")
    assert cells([*window(1), requested], CompactionPlan()) == [KEPT]


def test_many_turns_share_blocks() -> None:
    assert merged([GONE, KEPT], 2) == ([GONE, KEPT], 1)
    shared, share = merged([GONE] * 900 + [NEW] + [KEPT] * 100, 60)
    assert len(shared) <= 60
    assert share == 18
    assert shared.index(NEW) == 50
    assert (shared.count(GONE), shared.count(KEPT)) == (50, 6)
    hidden, _ = merged([GONE] * 100 + [KEPT], 10)
    assert hidden[-1] == KEPT


def drawn(plan: CompactionPlan, done: Compaction | None = None, *, turns: int = 3, width: int = 80, ascii: bool = False) -> str:  # noqa: A002
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    Picture(window(turns), plan, done, ascii=ascii).print(console)
    return out.getvalue()


PLAN = CompactionPlan(
    archive_event_ids=whole(0, 1),
    inserts=[summary("u2", "They met [bold]twice[/bold] \x1b[31m" + " and again" * 30)],
    strategy="recursive_summary",
    branch="helper",
    before=WindowCounters(turns=3, events=10, tokens=12_000, bytes=900),
    after=WindowCounters(turns=1, events=6, tokens=3_000, bytes=900),
)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("turns", [3, 2000])
def test_a_chart_fits_the_terminal(width: int, turns: int) -> None:
    lines = drawn(PLAN, turns=turns, width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert all(character.isprintable() for line in lines for character in line)


def test_a_chart_shows_the_compaction() -> None:
    lines = [line.rstrip() for line in drawn(PLAN).splitlines()]
    assert lines[0] == "before    ▒▒▒▒▒▒ ▒▒▒▒▒▒        ██████"
    assert lines[1] == "after                     S    ██████"
    text = "\n".join(lines)
    for reported in (
        "S  summary",
        "█  kept",
        "▒  summarized and archived",
        "a block is a turn",
        "archived  6 events, seq 2 to 7",
    ):
        assert reported in text
    assert "[bold]twice[/bold] \ufffd[31m" in text
    rows = [line.split() for line in lines]
    assert ["before", "3", "10", "12,000", "900"] in rows
    assert ["after", "1", "6", "3,000", "900"] in rows
    assert ["-67%", "-40%", "-75%"] in rows
    assert ["branch", "helper"] in rows


def test_the_record_wins_over_the_plan() -> None:
    done = Compaction(compaction_id="c1", archived_events=9, first_seq=4, last_seq=20, strategy="mine", before=PLAN.before)
    text = drawn(PLAN, done)
    assert "archived  9 events, seq 4 to 20" in text
    assert "mine" in text
    assert "c1" in text


def test_a_pending_summary_is_reported() -> None:
    requested = CompactionPlan(archive_event_ids=whole(0), inserts=[summary("u1", "")])
    requested.summary_prompt.CopyFrom(SummaryPrompt(prompt="x" * 1234, max_tokens=99))
    assert "1,234 characters in, at most 99 tokens out" in drawn(requested)


def test_without_unicode_the_chart_uses_ascii() -> None:
    text = drawn(PLAN, ascii=True)
    assert text.startswith("before    :::::: ::::::        ######")
    assert text.replace("\ufffd", "").isascii()


def test_colors_do_not_change_the_text() -> None:
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=True, color_system="standard")
    Picture(window(3), PLAN, None, ascii=False).print(console)
    assert "\x1b[32m██████\x1b[0m" in out.getvalue()
    assert "\x1b[35m▒▒▒▒▒▒\x1b[0m" in out.getvalue()
