"""Databases of earlier schemas are used after their migration: written, and exported."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import running
from tests.migration.stored import reads
from tests.migration.stored.databases import HISTORY, databases, empty_database, make, opened, reference
from tests.migration.stored.story import START, TENANT
from tests.migration.stored.telling import tell
from tests.support.codec import CODEC, draft
from tests.support.databases.migrated import FILE
from tests.support.runs.thoroughness import LONG
from threadkeep.cli import main
from threadkeep_server.domain.removals import Operation
from threadkeep_server.domain.state.state import StatePatch, StateScope, state_name
from threadkeep_server.store.contract.compaction import CompactionRequest
from threadkeep_server.store.contract.events import AppendRequest
from threadkeep_server.store.contract.forks import ForkRequest
from threadkeep_server.store.contract.history import AsOf
from threadkeep_server.store.contract.moves import MoveRequest
from threadkeep_server.store.contract.removals import Pop, RemovalRequest, Rewind
from threadkeep_server.store.contract.sessions import SessionOrder, SessionQuery
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.sql.store import open_store

LATER = START + START // 10
DATABASES = databases(1, 1) if LONG else databases(17, 17)[1:3]
"""In the short form the newest schema on SQLite and the oldest on PostgreSQL."""


async def _use(store: Store) -> list[Any]:
    """Changes every session, in the short form one in three, in every way. Returns the answers."""
    answers: list[Any] = []
    page = await store.list_sessions(TENANT, SessionQuery(order=SessionOrder.CREATED_FIRST, limit=1000))
    for now, session in enumerate(page.sessions[:: 1 if LONG else 3], LATER):
        of, name = session.ref, state_name(StateScope.SESSION, session.ref)
        more = [draft(f"more {number}", event_id=f"more-{number}") for number in range(4)]
        appended = await store.append(
            AppendRequest(TENANT, of, more, now, state={StateScope.SESSION: StatePatch({"more": "1"})})
        )
        answers.append((appended.log_version, appended.last_seq, appended.window))
        first = (await store.read_window(TENANT, of)).events[0].event_id
        done = await store.compact(CompactionRequest(TENANT, of, "later", now, [first], {}, None))
        answers.append(done.compaction.after)
        answers.append((await store.remove(RemovalRequest(TENANT, of, now, Pop(1)))).outcome)
        await store.patch_state(TENANT, name, StatePatch({"more": "2"}), now, expected_version=None)
        back = AsOf(log_version=appended.log_version, prefix="at_")
        answers.append((await store.remove(RemovalRequest(TENANT, of, now, Rewind(back)))).outcome)
        fork_id, name_of_fork = f"{of.session_id}-fork", Operation("fork later", b"fork")
        fork = ForkRequest(TENANT, of, fork_id, f"{session.uid}-fork", now, name_of_fork, back)
        answers.append((await store.fork(fork)).session)
        moved = await store.move_session(MoveRequest(TENANT, of, "carol", now, Operation("move later", b"move")))
        answers.append(moved.session)
    return answers


@pytest.mark.parametrize("database", DATABASES)
def test_sessions_of_earlier_schemas_are_changed_like_others(request: pytest.FixtureRequest, database: tuple[str, int]) -> None:
    engine, schema = database
    with empty_database(request, engine) as url, opened(url, schema) as (runner, store):
        other = runner.run(reference(schema))
        before = {(of.session_id, version): then for (of, version), then in runner.run(reads.history(store)).items()}
        assert runner.run(_use(store)) == runner.run(_use(other))
        for read in (reads.sessions, reads.events, reads.states):
            assert runner.run(read(store)) == runner.run(read(other))
        wanted = runner.run(reads.history(other))
        for (of, version), found in runner.run(reads.history(store)).items():
            known = {reads.UNKNOWN if before.get((of.session_id, version)) == reads.UNKNOWN else "then"}
            if schema < HISTORY and of.session_id.endswith("-fork"):
                known.add(reads.UNKNOWN)  # the feed has changes of the first session only
            assert (reads.UNKNOWN if found == reads.UNKNOWN else "then") in known, (of, version)
            assert found in (reads.UNKNOWN, wanted[of, version]), (of, version)


@pytest.mark.parametrize("database", DATABASES)
def test_an_export_of_an_earlier_schema_has_what_was_stored(
    request: pytest.FixtureRequest, database: tuple[str, int], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    engine, schema = database
    (tmp_path / "old").mkdir()
    with empty_database(request, engine) as url:
        at = url if engine == "postgresql" else f"sqlite:///{tmp_path}/old/{FILE}"
        asyncio.run(make(at, schema))
        found = _exported(tmp_path / "old", **({"database_url": at} if engine == "postgresql" else {}))
    (tmp_path / "new").mkdir()
    asyncio.run(_tell(tmp_path / "new", schema))
    wanted = _exported(tmp_path / "new")
    capfd.readouterr()
    assert _known(found, schema) == _known(wanted, schema)
    assert {"session", "event"} <= {line["type"] for line in found}


async def _tell(folder: Path, schema: int) -> None:
    async with open_store(f"sqlite:///{folder / FILE}", CODEC, clock=lambda: START) as store:
        await tell(store, schema)


def _exported(folder: Path, **flags: str) -> list[dict[str, Any]]:
    """Returns the lines of an export, without its head."""
    file = folder / "export.jsonl"
    with running(data_dir=folder, **flags) as server:
        assert main(["export", "-o", str(file), "--address", f"127.0.0.1:{server.grpc_port}"]) == 0
    return [json.loads(line) for line in file.read_text().splitlines()][1:]


def _known(lines: list[dict[str, Any]], schema: int) -> list[dict[str, Any]]:
    """Returns what a database of the schema knows: older ones do not know where a compaction inserted its events."""
    if schema >= HISTORY:
        return lines
    return [{**line, "placed": None} for line in lines if line["type"] != "window"]
