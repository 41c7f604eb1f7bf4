"""PostgreSQL is restored to a moment by pgBackRest, with the commands of the page: servers have what was stored until then."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

import threadkeep
from tests.api.conftest import running
from tests.support.databases.postgres import HOW_TO_INSTALL, PostgresCluster, find_binaries
from tests.support.documents import blocks_of
from tests.support.runs.toolchains import lacks
from threadkeep import errors

from .conftest import Command

_PAGE = Path(__file__).parents[2] / "docs" / "operations" / "backup.md"
_NO_PGBACKREST = "no pgBackRest found: run tests/support/install_cluster.sh, or apt-get install pgbackrest"
_SUDO = "sudo -u postgres "
_TARGET = "2026-11-28 10:43:00+00"
WITHIN = 120.0


class _Archived:
    """A cluster whose log pgBackRest keeps, as the page says."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self._folder = folder
        self._config = folder / "pgbackrest.conf"
        settings = {
            "archive_mode": "on",
            "archive_command": self._with_config("pgbackrest --stanza=threadkeep archive-push %p"),
        }
        shown = "\n".join(block.code for block in blocks_of(_PAGE) if block.language == "ini")
        assert "archive_mode = on\narchive_command = 'pgbackrest --stanza=threadkeep archive-push %p'" in shown
        self.cluster = PostgresCluster(binaries, settings=settings)
        self._configure(shown.partition("archive_mode")[0])

    def _with_config(self, command: str) -> str:
        return command.replace("pgbackrest ", f"pgbackrest --config={self._config} ")

    def _configure(self, config: str) -> None:
        cluster, folder = self.cluster, self._folder
        for shown, here in (("/var/lib/pgbackrest", folder / "repository"), ("/var/lib/postgresql/15/main", cluster._data)):
            assert f"={shown}\n" in config
            config = config.replace(f"={shown}\n", f"={here}\n")
        config = config.replace("pg1-port=5432", f"pg1-port={cluster.port}")
        # What the page leaves at Debian's defaults: the user, and places that it may write to.
        places = f"log-path={folder}/log\nlock-path={folder}/lock\nspool-path={folder}/spool\n"
        config = config.replace("[global]\n", f"[global]\n{places}")
        self._config.write_text(f"{config}pg1-socket-path={cluster._root}\npg1-user=test\npg1-database=postgres\n")
        for name in ("repository", "log", "lock", "spool"):
            (folder / name).mkdir()
        if user := cluster._run_as.get("user"):
            for path in (folder, *folder.iterdir()):
                os.chown(path, user, cluster._run_as["group"])

    def run_page(self, word: str, target: str = "") -> None:
        """Runs the commands of the page's block that has this word, as the user of the cluster."""
        [block] = [each for each in blocks_of(_PAGE) if each.code.startswith(_SUDO) and word in each.code]
        for line in block.code.strip().splitlines():
            command = shlex.split(self._with_config(line.removeprefix(_SUDO).replace(_TARGET, target)))
            done = subprocess.run(
                command, cwd=self._folder, capture_output=True, text=True, check=False, timeout=WITHIN, **self.cluster._run_as
            )
            assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"

    def await_primary(self) -> None:
        deadline = time.monotonic() + WITHIN
        while self.cluster.execute("SELECT pg_is_in_recovery()") != "f":
            assert time.monotonic() < deadline, "it stays in recovery"
            time.sleep(0.05)


@pytest.fixture
def archived(tmp_path: Path) -> Iterator[_Archived]:
    if shutil.which("pgbackrest") is None:
        lacks(_NO_PGBACKREST)
    binaries = find_binaries()
    if binaries is None:
        lacks(HOW_TO_INSTALL)
    assert binaries is not None
    tmp_path.chmod(0o755)
    folder = tmp_path / "pgbackrest"
    folder.mkdir()
    made = _Archived(binaries, folder)
    with made.cluster:
        yield made


@pytest.mark.postgres
async def test_servers_have_what_was_stored_until_the_moment(archived: _Archived, db: Command) -> None:
    cluster = archived.cluster
    url = cluster.create_database("threadkeep")
    await asyncio.to_thread(archived.run_page, "stanza-create")
    with running(database_url=url, http_address="") as server:
        async with threadkeep.AsyncClient(f"127.0.0.1:{server.grpc_port}", app="shop", user_id="ann") as client:
            await client.create_session("one")
            async with asyncio.timeout(WITHIN), aclosing(client.watch("one", after_seq=0)) as changes:
                for number in range(20):
                    await client.append("one", threadkeep.user(f"kept {number}"))
                kept = [await anext(changes) for _ in range(21)][-1].resume_token
                moment = cluster.execute("SELECT clock_timestamp()")
                for number in range(20):
                    await client.append("one", threadkeep.user(f"lost {number}"))
                lost = [await anext(changes) for _ in range(20)][-1].resume_token
    cluster.stop()
    await asyncio.to_thread(archived.run_page, "--type=time", moment)
    cluster.start()
    await asyncio.to_thread(archived.await_primary)
    with running(database_url=url, http_address="") as server:
        async with threadkeep.AsyncClient(f"127.0.0.1:{server.grpc_port}", app="shop", user_id="ann") as client:
            texts = [event.text async for event in client.events("one")]
            assert texts == [f"kept {number}" for number in range(20)]
            await client.append("one", threadkeep.user("instead"))
            async with asyncio.timeout(WITHIN), aclosing(client.watch("one", resume_token=kept)) as changes:
                assert [event.text for event in (await anext(changes)).events] == ["instead"]
            with pytest.raises(errors.InvalidResumeToken):
                async with asyncio.timeout(WITHIN), aclosing(client.watch("one", resume_token=lost)) as changes:
                    await anext(changes)
    found = await asyncio.to_thread(db, "verify", "--database-url", url)
    assert (found["shown"], found["events"]) == ([], 21)
