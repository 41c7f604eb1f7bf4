"""Exports carry windows, tombstones and state: another server answers as the origin does."""

from __future__ import annotations

import contextlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import threadkeep
from tests.support.runs.thoroughness import LONG, size
from threadkeep import Client, SessionHandle, compaction, errors
from threadkeep.cli import main
from threadkeep.cli.session_writer import SessionWriter

from ..conftest import ServerFactory

SEEDS = range(20) if LONG else (3,)
ACTIONS = size(40, 24)
PAIRS = (
    [(origin, seed) for origin in ("sqlite", "postgresql") for seed in SEEDS] if LONG else [("sqlite", 3), ("postgresql", 4)]
)
ORIGINS = [pytest.param(*pair, marks=pytest.mark.postgres if pair[0] == "postgresql" else ()) for pair in PAIRS]
Import = Callable[..., dict[str, Any]]


def alice(address: str) -> Client:
    return Client(address, app="shop", user_id="alice")


@pytest.fixture
def origin(request: pytest.FixtureRequest, start_server: ServerFactory, tmp_path: Path) -> str:
    """A server on SQLite, or on the engine of ORIGINS."""
    engine = getattr(request, "param", "sqlite")
    url = {"database_url": request.getfixturevalue("postgres_url")} if engine == "postgresql" else {}
    return f"127.0.0.1:{start_server(data_dir=tmp_path / 'origin', **url).grpc_port}"


@pytest.fixture
def copy(start_server: ServerFactory, tmp_path: Path) -> str:
    return f"127.0.0.1:{start_server(data_dir=tmp_path / 'copy').grpc_port}"


@pytest.fixture
def moved(origin: str, copy: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Import:
    """Exports everything and imports it into the other server; returns the summary of the import."""

    def move(*options: str) -> dict[str, Any]:
        file = str(tmp_path / "export.jsonl")
        assert main(["export", "-o", file, "--address", origin]) == 0
        capfd.readouterr()
        assert main(["import", file, "--address", copy, "--json", *options]) == 0, capfd.readouterr().err
        done: dict[str, Any] = json.loads(capfd.readouterr().out)
        return done

    return move


class Author:
    """Changes a session in every way, at random."""

    def __init__(self, session: SessionHandle, seed: int) -> None:
        self._session = session
        self._prefix = session.id
        self._dice = random.Random(seed)
        self._numbers = count(1)

    def write(self, actions: int) -> None:
        acts = {
            self._append: 10,
            self._tool: 3,
            self._pop: 4,
            self._suffix: 3,
            self._upsert: 4,
            self._erase: 2,
            self._compact: 3,
            self._summarize: 3,
            self._clear: 1,
            self._rewind: 4,
            self._patch: 3,
        }
        for act in self._dice.choices(list(acts), list(acts.values()), k=actions):
            with contextlib.suppress(errors.NothingToCompact, errors.BrokenToolPair):
                act()

    def _said(self, event_id: str = "") -> threadkeep.SessionEvent:
        number = next(self._numbers)
        make = self._dice.choice((threadkeep.user, threadkeep.assistant))
        return make(f"text {number}", event_id=event_id or f"{self._prefix}{number}", branch=self._dice.choice(("", "", "a")))

    def _newest(self, number: int) -> list[str]:
        active = threadkeep.event_filter(exact_last_n=number, view="active")
        return [event.id for event in self._session.events(active)]

    def _append(self) -> None:
        self._session.append(
            *(self._said() for _ in range(self._dice.choice((1, 1, 3)))), state={"set": {"n": next(self._numbers)}}
        )

    def _tool(self) -> None:
        call = f"{self._prefix}-c{next(self._numbers)}"
        self._session.append(
            threadkeep.assistant("", tool_calls=[threadkeep.tool_call(call, "look", {})], event_id=f"{call}-call")
        )
        self._session.append(threadkeep.tool_result(call, "found", event_id=f"{call}-result"))

    def _pop(self) -> None:
        dice = self._dice
        self._session.pop(dice.choice((1, 2)), branch=dice.choice((None, None, "a", "")), erase=dice.random() < 0.3)

    def _suffix(self) -> None:
        leaving = self._newest(2)
        reused = leaving[0] if leaving and self._dice.random() < 0.5 else ""
        self._session.replace_suffix(leaving, self._said(reused), erase=self._dice.random() < 0.3)

    def _upsert(self) -> None:
        known = [event.id for event in self._session.events() if not event.erased]
        if known:
            self._session.append(self._said(self._dice.choice(known[-6:])), if_exists="replace")

    def _erase(self) -> None:
        known = [event.id for event in self._session.events()]
        if known:
            self._session.erase_events([self._dice.choice(known[-6:])])

    def _compact(self) -> None:
        self._session.compact(compaction.sliding_window(4))

    def _summarize(self) -> None:
        read = self._session.get_context()
        if read.compactable_through_seq:
            self._session.apply_compaction(context=read, summary=f"summary {next(self._numbers)}", actor="author")

    def _clear(self) -> None:
        self._session.clear(erase=self._dice.random() < 0.3)

    def _rewind(self) -> None:
        session = self._session.get()
        erase = self._dice.random() < 0.2
        if self._dice.random() < 0.5:
            self._session.rewind(at_log_version=self._dice.randint(0, session.log_version), erase=erase)
        elif session.last_seq:
            self._session.rewind(at_seq=self._dice.randint(max(1, session.last_seq - 8), session.last_seq), erase=erase)

    def _patch(self) -> None:
        self._session.state().patch({self._dice.choice("abc"): next(self._numbers)})


def shown(event: threadkeep.Event) -> tuple[int, str, str, bool]:
    return event.seq, event.id, "" if event.erased else event.text, event.erased


def answers(address: str, session_id: str = "s", *, exact: bool = True, past: bool) -> Iterator[tuple[str, object]]:
    """What a server answers about a session, now and as of each moment; `exact`: its versions too."""
    with alice(address) as client:
        handle = client.session(session_id)
        session = handle.get()
        yield "counters", (session.last_seq, session.window.events, session.window.turns, session.context_bytes)
        yield "versions", (session.log_version, session.window_version) if exact else ()
        yield "parent", session.parent
        yield "forks", [each.ref for each in client.sessions(forked_from=session_id)]
        log = list(handle.events())
        yield "log", [(*shown(event), event.archived) for event in log]
        versions = Counter(event.id for event in log)
        named = [event for event in log if versions[event.id] == 1 or not event.archived]
        yield "named", [handle.get_event(event.id).seq for event in named]
        yield "active", [shown(event) for event in handle.events(threadkeep.event_filter(view="active"))]
        yield "context", [shown(event) for event in handle.get_context().events]
        yield "state", dict(handle.state().get().texts)
        yield "compactions", [(each.strategy, each.actor, list(each.inserted_event_ids)) for each in handle.compactions()]
        yield "found", sorted(hit.event.event_id for hit in handle.search("text", mode="substring"))
        if past:
            yield from past_answers(handle, session)


def past_answers(handle: SessionHandle, session: threadkeep.Session) -> Iterator[tuple[str, object]]:
    seqs: list[dict[str, int]] = [{"as_of_seq": seq} for seq in range(1, session.last_seq + 1)]
    for moment in seqs + [{"as_of_log_version": version} for version in range(session.log_version + 1)]:
        read = handle.get_context(**moment)  # type: ignore[arg-type]
        yield f"context {moment}", (read.window_version, [shown(event) for event in read.events])
        listed = list(handle.events(**moment))  # type: ignore[arg-type]
        yield f"log {moment}", [(*shown(event), event.archived) for event in listed]


def assert_alike(one: Iterator[tuple[str, object]], other: Iterator[tuple[str, object]]) -> None:
    """Reports the first difference."""
    for (what, mine), (_, theirs) in zip(one, other, strict=True):
        if isinstance(mine, list) and isinstance(theirs, list):
            for place, (each, same) in enumerate(zip(mine, theirs, strict=False)):
                assert each == same, f"{what}, {place}"
        assert mine == theirs, what


def written(address: str, seed: int) -> None:
    """Writes a session, a fork of its past, and a fork of the fork."""
    with alice(address) as client:
        client.create_session("s", never_expires=True, context_bytes=9_000)
        Author(client.session("s"), seed).write(ACTIONS)
        middle = client.session("s").get().log_version * 3 // 4
        client.session("s").fork("f", at_log_version=middle)
        Author(client.session("f"), seed + 1).write(ACTIONS // 4)
        client.session("f").fork("g")
        Author(client.session("g"), seed + 2).write(ACTIONS // 8)


@pytest.mark.parametrize(("origin", "seed"), ORIGINS, indirect=["origin"])
def test_an_import_answers_as_the_origin_now_and_as_of_each_moment(origin: str, copy: str, moved: Import, seed: int) -> None:
    written(origin, seed)
    done = moved("--exact")
    assert (done["sessions_created"], done["problems"]) == (3, [])
    for name in "sfg":
        assert_alike(answers(origin, name, past=True), answers(copy, name, past=True))
    before = [[*answers(copy, name, past=LONG)] for name in "sfg"]
    again = moved("--exact")
    assert (again["events_added"], again["events_already_there"]) == (0, done["events_added"])
    assert (again["states_set"], again["states_kept"]) == (0, done["states_set"])
    for name, was in zip("sfg", before, strict=True):  # its versions too: nothing was written, so no past moment differs
        assert_alike(iter(was), answers(copy, name, past=LONG))


@pytest.mark.parametrize("seed", SEEDS)
def test_an_import_in_batches_has_the_window_of_the_origin(origin: str, copy: str, moved: Import, seed: int) -> None:
    written(origin, seed + 100)
    moved()
    for name in "sfg":
        assert_alike(answers(origin, name, exact=False, past=False), answers(copy, name, exact=False, past=False))


def lines_of(address: str, file: Path) -> list[dict[str, Any]]:
    """The lines of an export, without what each server assigns."""
    assert main(["export", "-o", str(file), "--address", address]) == 0
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        for name in ("store_id", "record_time", "version"):
            line.pop(name, None)
    return sorted(lines, key=lambda line: str(line.get("session", line.get("session_id"))))


def test_an_export_of_an_import_is_the_same(origin: str, copy: str, moved: Import, tmp_path: Path) -> None:
    written(origin, 11)
    moved("--exact")
    lines = lines_of(origin, tmp_path / "one.jsonl")
    assert lines == lines_of(copy, tmp_path / "other.jsonl")
    forks = [line["forked_from"]["session_id"] for line in lines if line.get("forked_from")]
    assert sorted(forks) == ["f", "s"]


def test_an_export_of_version_2_is_imported(copy: str) -> None:
    """An exporter of version 2 wrote the file, of pops, erasures, an upsert, a compaction and a suffix that reuses an id."""
    file = str(Path(__file__).with_name("export_version_2.jsonl"))
    for _ in range(2):
        assert main(["import", file, "--address", copy, "--exact"]) == 0
        with alice(copy) as client:
            session = client.session("old")
            active = [event.text for event in session.events(threadkeep.event_filter(view="active"))]
            assert active == ["summary", "FOUR", "six", "SEVEN", "eight"]
            log = sorted(session.events(), key=lambda event: event.seq)
            texts = [("" if event.erased else event.text) for event in log]
            assert texts == ["", "two", "three", "", "", "FOUR", "six", "seven", "summary", "SEVEN", "eight"]
            assert [event.seq for event in log if event.erased] == [1, 4, 5]
            assert [(each.strategy, each.actor) for each in session.compactions()] == [("mine", "me")]
            assert session.state().get().texts == {"cart": "[1]"}


def test_an_imported_fork_that_was_moved_names_a_parent_of_its_owner(origin: str, copy: str, moved: Import) -> None:
    with alice(origin) as client:
        client.session("s").append(threadkeep.user("a"), create_if_missing=True)
        made = client.session("s").fork("f")
        client.session("f").move("bob")
    moved()
    with Client(copy, app="shop", user_id="bob") as client:
        parent = client.session("f").get().parent
        assert (parent.session.user_id, parent.session.session_id, parent.uid) == ("bob", "s", made.parent.uid)
        assert [each.ref.session_id for each in client.sessions(forked_from="s")] == ["f"]


def test_a_later_version_of_an_event_is_erased_by_the_rewind_that_erased_it(origin: str, copy: str, moved: Import) -> None:
    with alice(origin) as client:
        session = client.session("s")
        session.append(threadkeep.user("text 1", event_id="e1"), create_if_missing=True)
        session.pop(1)
        session.append(threadkeep.user("text 2", event_id="e2"))
        session.append(threadkeep.user("text 3", event_id="e1"), if_exists="replace")
        session.apply_compaction(archive=["e1"], expected_window_version=session.get().window_version)
        session.append(threadkeep.user("text 4", event_id="e4"))
        session.rewind(at_seq=2, erase=True)
    moved("--exact")
    assert_alike(answers(origin, past=True), answers(copy, past=True))


def test_an_imported_fork_stays_without_its_origin(origin: str, copy: str, moved: Import) -> None:
    with alice(origin) as client:
        client.session("s").append(threadkeep.user("a"), create_if_missing=True)
        made = client.session("s").fork("f")
        client.delete_session("s")
    moved()
    with alice(copy) as client:
        assert client.session("f").get().parent == made.parent
        assert [each.ref.session_id for each in client.sessions(forked_from="s")] == ["f"]
        assert [event.text for event in client.session("f").get_context().events] == ["a"]


def test_a_longer_export_with_a_rewind_keeps_the_state_that_was_imported(origin: str, copy: str, moved: Import) -> None:
    with alice(origin) as client:
        session = client.session("s")
        session.append(threadkeep.user("a"), create_if_missing=True, state={"set": {"k": 1}})
        session.append(threadkeep.user("b"))
        moved()
        session.rewind(at_seq=1)
    moved()
    with alice(copy) as client:
        assert [event.text for event in client.session("s").get_context().events] == ["a"]
        assert dict(client.session("s").state().get()) == {"k": 1}


def test_an_interrupted_import_continues_in_the_middle_of_a_history(
    origin: str, copy: str, moved: Import, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with alice(origin) as client:
        client.create_session("s", never_expires=True)
        Author(client.session("s"), 3).write(ACTIONS)
    change, left = SessionWriter.change_window, count(-4)

    async def interrupted(self: SessionWriter, *arguments: Any) -> None:
        if next(left) == 0:
            raise ValueError("interrupted")
        await change(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(SessionWriter, "change_window", interrupted)
        with pytest.raises(AssertionError):
            moved("--exact")
    assert moved("--exact")["events_added"] > 0
    assert_alike(answers(origin, past=True), answers(copy, past=True))


def test_state_of_three_scopes_is_carried_and_never_overwritten(origin: str, copy: str, moved: Import) -> None:
    with alice(origin) as client:
        client.create_session("s", state={"cart": [1]})
        client.user_state().patch(set_json={"big": "1e400"})
        client.app_state().patch({f"k{number}": number for number in range(1000)})
        client.app_state().patch({f"l{number}": number for number in range(500)})
    assert (done := moved())["states_set"] == 3, done
    with alice(copy) as client:
        assert client.session("s").state().get().texts == {"cart": "[1]"}
        assert client.user_state().get().texts == {"big": "1e400"}
        assert len(client.app_state().get()) == 1500
        client.user_state().patch({"big": 2})
        client.app_state().patch(remove=[f"l{number}" for number in range(500)])  # as after an interrupted import
        assert (moved()["states_set"], client.user_state().get().texts) == (1, {"big": "2"})
        assert len(client.app_state().get()) == 1500
