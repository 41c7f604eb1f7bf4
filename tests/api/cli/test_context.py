"""The window commands: context, compact, compactions, policy."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import threadkeep
from tests.support.models.model_endpoint import TEXT, endpoint
from threadkeep import Client, compaction
from threadkeep.cli import main

Cli = Callable[..., tuple[int, str, str]]


def make_cli(address: str, capfd: pytest.CaptureFixture[str]) -> Cli:
    def cli(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments, "--address", address])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return cli


@pytest.fixture
def cli(address: str, capfd: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command; returns exit code, output and standard error."""
    return make_cli(address, capfd)


@pytest.fixture
def filled(address: str) -> str:
    """A session `s` of alice with a SYSTEM event and six turns of four events."""
    fill(address)
    return "s"


def fill(address: str) -> None:
    with Client(address, user_id="alice", app="shop") as client:
        client.append("s", threadkeep.system("Be brief."), create_if_missing=True)
        for n in range(6):
            client.append(
                "s",
                threadkeep.user(f"question {n}"),
                threadkeep.assistant(
                    tool_calls=[threadkeep.tool_call(f"c{n}", "look", {})], author="planner", author_role="lead"
                ),
                threadkeep.tool_result(f"c{n}", "found " * 200, name="look"),
                threadkeep.assistant(f"answer {n}", author="writer"),
            )


def fields(out: str) -> dict[str, str]:
    """Returns the names and values of two columns."""
    return {name: value for line in out.splitlines() if "  " in line for name, value in [line.strip().split("  ", 1)]}


def test_a_context_is_printed(cli: Cli, filled: str) -> None:
    code, out, err = cli("context", "s", "--max-turns", "2")
    assert (code, err) == (0, "")
    facts = {name: value.strip() for name, value in fields(out).items()}
    assert facts["context"].startswith("9 events, 2 turns, ")
    assert facts["window"].startswith("25 events, 6 turns, ")
    assert facts["seqs"] == "18 to 25, of 25 in the log"
    assert facts["truncated"] == "yes; `threadkeep events list s --before-seq 18` lists what came before"
    assert "Be brief." in out
    assert "question 4" in out
    assert "question 3" not in out
    assert "truncated  no" in cli("context", "s")[1]
    assert "over budget  yes" in cli("context", "s", "--max-bytes", "10")[1]


def test_context_options_narrow_the_context(cli: Cli, filled: str) -> None:
    def seqs(*arguments: str) -> list[int]:
        return [each["seq"] for each in json.loads(cli("context", "s", "--json", *arguments)[1])["events"]]

    assert seqs() == list(range(1, 26))
    assert seqs("--last-n", "1") == [1, 22, 23, 24, 25]
    assert seqs("--last-n", "1", "--exclude-system") == [22, 23, 24, 25]
    assert seqs("--max-turns", "1", "--exclude-author", "writer") == [1, 22, 23, 24]
    assert seqs("--max-turns", "1", "--exclude-role", "lead", "--exclude-author", "writer") == [1, 22]
    assert seqs("--include-author", "writer") == [1, 5, 9, 13, 17, 21, 25]
    assert seqs("--include-role", "lead") == [1]  # calls without their results are left out
    assert seqs("--max-tokens", "700") == [1, *range(18, 26)]
    found = json.loads(cli("context", "s", "--json", "--max-bytes", "10", "--branch", "x")[1])
    assert (found["truncated"], found["over_budget"], found["window"]["turns"]) == (True, True, 6)
    assert (found["first_seq"], found["session_last_seq"], found["window_version"]) == (22, 25, 0)
    assert cli("context", "nope")[0] == 3


def test_a_dry_run_prints_the_plan_and_changes_nothing(cli: Cli, filled: str) -> None:
    code, out, err = cli("compact", "s", "--strategy", "turn-window=2", "--dry-run")
    lines = [line.rstrip() for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert lines[0] == "s: dry run, nothing was changed"
    assert "before    ░░░░░░ ░░░░░░ ░░░░░░ ░░░░░░ ██████ ██████" in lines
    assert "after                                 ██████ ██████" in lines
    assert "archived  16 events, seq 2 to 17" in lines
    assert max(map(len, lines)) <= 80
    requested = cli("compact", "s", "--strategy", "recursive-summary=4", "--dry-run")[1]
    assert "at most 1,024 tokens out" in requested
    assert cli("compactions", "s")[1] == "no compactions\n"


def test_compact_prints_the_compaction(cli: Cli, filled: str) -> None:
    code, out, err = cli("compact", "s", "--step", "trim-tool-results=1", "--step", "turn-window=3", "--actor", "me")
    assert (code, err) == (0, "")
    assert "s: compacted" in out
    assert "before    ░░░░░░ ░░░░░░ ░░░░░░ ▄▄▄▄▄▄ ▄▄▄▄▄▄ ██████" in out
    (done,) = [json.loads(line) for line in cli("compactions", "s", "--json")[1].splitlines()]
    assert done["compaction_id"] in out
    assert (done["strategy"], done["actor"], done["archived_events"]) == ("pipeline", "me", 14)
    assert "6 → 3" in cli("compactions", "s")[1]
    assert "14 events" in fields(cli("sessions", "show", "s")[1])["archived"]
    shown = json.loads(cli("sessions", "show", "s", "--json")[1])
    assert (shown["window_version"], shown["window"]["turns"], shown["context_bytes"]) == (1, 3, 0)
    assert cli("search", "question 0")[1].count("question 0") == 1


def test_a_compaction_without_work_is_not_an_error(cli: Cli, filled: str) -> None:
    assert cli("compact", "s", "--strategy", "turn-window=9")[:2] == (
        0,
        "s: nothing to do, the strategy keeps all events: 25 events in 6 turns\n",
    )
    idle = cli("compact", "s", "--strategy", "turn-window=2", "--if", "turns-over=6", "--if", "events=90")
    assert idle[:2] == (0, "s: nothing done, the window is below what --if says\n")
    both = cli("compact", "s", "--strategy", "turn-window=2", "--if", "turns-over=5,events=90", "--json")
    assert json.loads(both[1]) == {"compacted": False, "triggered": False, "lost_races": 0}


def test_compact_prints_json_for_programs(cli: Cli, filled: str) -> None:
    code, out, _ = cli("compact", "s", "--strategy-json", '{"turnWindow": {"maxTurns": 2}}', "--if", "turns-over=5", "--json")
    done = json.loads(out)
    assert code == 0
    assert (done["compacted"], done["triggered"], done["compaction"]["last_seq"]) == (True, True, 17)
    assert len(done["plan"]["archive_event_ids"]) == 16


def test_errors_have_instructions(cli: Cli, filled: str) -> None:
    code, _, err = cli("compact", "s", "--strategy", "recursive-summary=4")
    assert (code, err.count("\n")) == (1, 1)
    assert "THREADKEEP_SUMMARIZER_MODEL" in err
    code, _, err = cli("compact", "s")
    assert (code, "give --strategy" in err, "threadkeep policy set" in err) == (2, True, True)
    code, _, err = cli("compact", "s", "--strategy", "recursive-summary=2,overlap=2")
    assert (code, "overlap" in err) == (1, True)
    assert cli("compact", "nope", "--strategy", "turn-window=1")[0] == 3
    assert cli("compactions", "nope")[0] == 3
    assert cli("compact", "s", "--strategy", "nonsense")[0] == 2


async def test_compact_summarizes_with_the_servers_model(start_server: Any, capfd: pytest.CaptureFixture[str]) -> None:
    async with endpoint("openai") as model:
        server = start_server(summarizer="openai", summarizer_model="small", summarizer_base_url=model.url)
        address = f"127.0.0.1:{server.grpc_port}"
        await asyncio.to_thread(fill, address)
        cli = make_cli(address, capfd)
        code, out, _ = await asyncio.to_thread(cli, "compact", "s", "--strategy", "recursive-summary=4")
        assert code == 0
        assert "before    ▒▒▒▒▒▒ ▒▒▒▒▒▒ ▒▒▒▒▒▒ ▒▒▒▒▒▒ ▒▒▒▒▒▒        ██████" in out
        assert TEXT in out
        assert TEXT in (await asyncio.to_thread(cli, "context", "s"))[1]
        info = json.loads((await asyncio.to_thread(cli, "info", "--json"))[1])
        assert (info["summarizer_model"], info["token_counter"]) == ("small", "chars/4")
    assert len(model.requests) == 1


def test_policies_are_set_printed_and_deleted(cli: Cli, filled: str, address: str) -> None:
    code, out, _ = cli("policy", "set", "--app", "shop", "--trigger", "tokens=100000", "--strategy", "turn-window=20")
    assert code == 0
    assert "turn-window=20 if tokens=100000" in out
    shown = fields(cli("policy", "show", "--session", "s", "--user", "alice", "--app", "shop")[1])
    assert (shown["set here"].strip(), shown["set on"].strip()) == ("nothing", "app shop")
    assert "never compact" in cli("policy", "set", "--user", "alice", "--app", "shop", "--disabled")[1]
    found = json.loads(cli("policy", "show", "--user", "alice", "--app", "shop", "--json")[1])
    assert found["policy"] == {"disabled": True}
    assert cli("policy", "remove", "--user", "alice", "--app", "shop")[0] == 0
    found = json.loads(cli("policy", "show", "--session", "s", "--json")[1])
    assert "policy" not in found
    assert found["effective_policy"] == {"trigger": {"tokens": 100000}, "strategy": {"turn_window": {"max_turns": 20}}}
    cli("policy", "set", "--session", "s", "--if", "turns-over=3", "--strategy", "sliding-window=8")
    with Client(address, user_id="alice", app="shop") as client:
        policy = client.session("s").policy().get().policy
    assert policy == compaction.policy(compaction.turns_over(3), compaction.sliding_window(8))
    assert json.loads(cli("compact", "s", "--json")[1])["compaction"]["strategy"] == "sliding_window"


def test_a_policy_is_read_from_a_file(cli: Cli, filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '{"trigger": {"bytes": 500000}, "strategy": {"recursiveSummary": {"maxEventsToKeep": 6}}}'
    path = tmp_path / "policy.json"
    path.write_text(text)
    assert "recursive-summary=6 if bytes=500000" in cli("policy", "set", "--server", "--json-file", str(path))[1]
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"disabled": true}'))
    assert "never compact" in cli("policy", "set", "--user", "bob", "--json-file", "-")[1]
    assert cli("policy", "set", "--server", "--json-file", str(tmp_path / "none"))[0] == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "whose policy?"),
        (["--server", "--app", "shop"], "whose policy?"),
        (["--server"], "--trigger and --strategy, or --disabled"),
        (["--server", "--trigger", "tokens=1"], "needs both"),
        (["--server", "--strategy", "turn-window"], "needs both"),
        (["--server", "--disabled", "--trigger", "tokens=1"], "or --disabled"),
    ],
)
def test_an_invalid_policy_reports_the_missing_field(cli: Cli, arguments: list[str], says: str) -> None:
    code, _, err = cli("policy", "set", *arguments)
    assert (code, says in err) == (2, True)


def test_what_an_agent_saw_is_printed(cli: Cli, filled: str) -> None:
    assert cli("compact", "s", "--strategy", "turn-window=2")[0] == 0

    def seqs(*arguments: str) -> list[int]:
        return [each["seq"] for each in json.loads(cli("context", "s", "--json", *arguments)[1])["events"]]

    assert seqs("--as-of-seq", "25") == list(range(1, 26))
    assert seqs("--as-of-version", "3", "--last-n", "1") == seqs("--as-of-seq", "9", "--last-n", "1") == [1, 6, 7, 8, 9]
    assert "question 0" in cli("events", "list", "s", "--active", "--as-of-seq", "5")[1]
    assert "question 1" not in cli("events", "list", "s", "--as-of-seq", "5")[1]
    code, _, err = cli("context", "s", "--as-of-seq", "9", "--as-of-version", "3")
    assert (code, "at most one" in err) == (2, True)
    assert cli("context", "s", "--as-of-seq", "99")[0] == 1
