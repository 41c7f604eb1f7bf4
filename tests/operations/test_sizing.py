"""The programs that measure what a server needs run; the soak in small form, the measurements in the long form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sizing import measuring, soak
from tests.sizing.measurements import MEASUREMENTS
from tests.sizing.servers import ENGINES
from tests.support.runs.thoroughness import LONG


def test_soak_runs_rounds_and_judges_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak, "_IDLE_SECONDS", 0.1)
    short = soak.Soak(("sqlite",), hours=1 / 3600, round_seconds=1.0, rate=10, folder=tmp_path)
    assert soak.run(short) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("sqlite: 1 rounds, 0.00 h, the server used ")
    assert lines[1:] == ["  pass   rounds exact and without errors: 1 of 1"]
    [found] = [json.loads(line) for line in (tmp_path / "sqlite.jsonl").read_text().splitlines()]
    assert found["check"]["delivered"] == 3 * found["check"]["acknowledged"] > 0
    assert found["anonymous"] > 20
    assert found["descriptors"] > 5
    assert found["p50_ms"].keys() == {"append", "context", "create", "delete", "deliver", "list", "search"}


@pytest.mark.skipif(not LONG, reason="it starts thirty servers")
def test_measurements_run(tmp_path: Path) -> None:
    assert measuring.run(ENGINES, list(MEASUREMENTS), tmp_path / "sizing.json", quick=True) == 0
    found = json.loads((tmp_path / "sizing.json").read_text())["figures"]
    assert {each["engine"] for each in found} == set(ENGINES)
    nothing = [each["name"] for each in found if each["value"] <= 0 and "processor" not in each["name"]]
    assert nothing == []
