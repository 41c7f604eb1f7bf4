"""The example of the whole fleet: an agent in each language takes turns in one session, whose server is killed meanwhile."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from examples.fleet.run import run
from examples.fleet.turns import ALL

from tests.integrations import fleet
from tests.integrations.environments import ROOT
from tests.support.databases.postgres import PostgresCluster
from tests.support.documents import blocks_of
from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import LONG
from tests.support.runs.toolchains import require
from tests.support.servers.server_process import ServerProcess, fork_server, url_settings

RUNS = 20 if LONG else 1
TRANSCRIPTS = [block.code for block in blocks_of(ROOT / "docs/integrations/fleet.md")]
# Maven takes minutes on a loaded machine, and a run in the long form a minute.
pytestmark = pytest.mark.timeout(7200 if LONG else 1200)


@pytest.fixture(scope="module")
def built() -> None:
    for language in {agent.language for agent in ALL.agents}:
        require(language.lower())
    fleet.build()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest) -> str | None:
    if request.param == "sqlite":
        return None
    cluster: PostgresCluster = request.getfixturevalue("postgres")
    return cluster.create_database("fleet_all")


@pytest.mark.usefixtures("built")
def test_fleet_of_all_languages_reads_all_turns_while_its_server_is_killed(
    database_url: str | None, tmp_path: Path, say: Say, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first run is the example's; in the long form, the server is killed at random moments of random turns after it."""
    moments = random.Random(20)
    with ServerProcess(fork_server(), tmp_path, **url_settings(database_url)) as server:
        server.start()
        for number in range(RUNS):
            turns = moments.sample(range(1, len(ALL.turns)), 2)
            kills = {turn: moments.uniform(-0.5, 2.0) for turn in turns} if number else None
            run(ALL, server, tmp_path, f"trip-{number}", kills)
            printed = capsys.readouterr().out
            assert printed.count("the server was killed, and started again") == 2
            assert "5 languages, 1 session: each agent read all that was said before it" in printed
            if number == 0:
                assert printed in TRANSCRIPTS, "docs/integrations/fleet.md shows another run"
    say(f"the fleet in {'PostgreSQL' if database_url else 'SQLite'}: {RUNS} runs in a row, {2 * RUNS} kills")
