"""A database that is restored from a backup: positions of what it has lost are refused, all others stay valid."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.support.databases.postgres import PostgresCluster
from tests.support.servers.server_process import ServerProcess

from .facts import facts_of, transcript
from .scene import Scene, opened
from .streams import EVERYTHING

Restore = Callable[[], None]


@pytest.fixture
def back_up(request: pytest.FixtureRequest, database_url: str | None, tmp_path: Path) -> Callable[[], Restore]:
    """Copies the database, while no server runs, and returns what puts the copy in its place."""
    if database_url is not None:
        return lambda: _back_up_postgres(request.getfixturevalue("postgres"), database_url.rpartition("/")[2])
    return lambda: _back_up_files(tmp_path / "data")


def _back_up_files(data: Path) -> Restore:
    """Every file, also those that are not the database, and put back into the same inodes."""
    kept = shutil.copytree(data, data.with_name("backup"))

    def restore() -> None:
        for file in data.iterdir():
            if not (kept / file.name).exists():
                file.unlink()
        for file in kept.iterdir():
            (data / file.name).write_bytes(file.read_bytes())

    return restore


def _back_up_postgres(cluster: PostgresCluster, name: str) -> Restore:
    cluster.create_database(f"{name}_backup", template=name)

    def restore() -> None:
        cluster.drop_database(name)
        cluster.execute(f'ALTER DATABASE "{name}_backup" RENAME TO "{name}"')

    return restore


async def _marks(scene: Scene) -> list[tuple[int, str]]:
    """How many changes precede each token of the feed."""
    return [(mark.changes, mark.token) for mark in transcript(await scene.replay(EVERYTHING)).bookmarks]


async def test_a_token_of_what_was_lost_is_refused(server: ServerProcess, back_up: Callable[[], Restore]) -> None:
    async with opened(server.address) as scene:
        await scene.create()
        for _ in range(5):
            await scene.say()
        kept = await _marks(scene)
    server.kill()
    restore = back_up()
    server.start()
    async with opened(server.address) as scene:
        for _ in range(5):
            await scene.say()
        lost = [token for changes, token in await _marks(scene) if changes > kept[-1][0]]
    server.kill()
    restore()
    server.start()
    async with opened(server.address) as scene:
        assert len(lost) >= 5
        await _check_refused(scene, lost)  # no changes have their positions
        for _ in range(8):
            await scene.say("others")
        facts = list(transcript(await scene.replay(EVERYTHING)).facts)
        await _check_refused(scene, lost)  # other changes have them
        for changes, token in kept:
            assert facts_of(await scene.tap.read(EVERYTHING, resume_token=token)) == facts[changes:]


async def _check_refused(scene: Scene, tokens: Sequence[str]) -> None:
    for token in tokens:
        refused = await scene.tap.refused(EVERYTHING, resume_token=token)
        assert refused.reason == "INVALID_RESUME_TOKEN"
        assert "restored" in str(refused)
