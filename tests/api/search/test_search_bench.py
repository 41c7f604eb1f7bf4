"""`make bench-recall` runs on the own data set, prints its results, and reports missing requirements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.recall_bench.__main__ import main, spread
from tests.recall_bench.loaders import OWN, load
from tests.recall_bench.plain import CAREFUL, PLAIN


def test_the_own_data_set_is_ingested_and_searched_in_every_mode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = tmp_path / "recall.json"
    assert main(["--limit", "13", "--memory", "--json", str(written)]) == 0
    result = json.loads(written.read_text())
    modes = ["substring", "ranked", "semantic", "hybrid"]
    assert list(result["results"]) == [PLAIN, CAREFUL, *modes, *(f"memory, {mode}" for mode in modes)]
    assert result["questions"]["all"] == 13 == sum(number for kind, number in result["questions"].items() if kind != "all")
    assert result["ingested"]["remembered"] == result["ingested"]["events"] > 200
    for name, entry in result["results"].items():
        found, times = entry["recall"]["all"], entry["milliseconds"]
        assert 0 <= found["turns@5"] <= found["turns@10"] <= found["turns@20"] <= found["turns@20 ±1"] <= 1
        assert 0 < times["p50"] <= times["p95"]
        assert name.endswith("substring") or found["sessions@20"] >= 0.6, name
    ranked = result["results"]["ranked"]["recall"]["all"]
    assert all(ranked["turns@10"] >= result["results"][name]["recall"]["all"]["turns@10"] for name in (PLAIN, CAREFUL))
    shown = capsys.readouterr().out
    assert "13 questions" in shown
    assert f"{ranked['turns@10']:.3f}" in shown


def test_modes_without_an_embedder_are_measured(tmp_path: Path) -> None:
    written = tmp_path / "recall.json"
    assert main([str(OWN / "old-friends.json"), "--limit", "2", "--embedder", "none", "--json", str(written)]) == 0
    assert list(json.loads(written.read_text())["results"]) == [PLAIN, CAREFUL, "substring", "ranked"]


def test_questions_are_sampled_at_even_distances() -> None:
    every = list(load(OWN))
    assert spread(every, 0) == spread(every, 10_000) == every
    nine = spread(every, 9)
    assert sum(len(each.questions) for each in nine) == 9
    assert len(nine) >= 7
    assert [each.id for each in spread(every, 1)] == [every[0].id]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.json"], "nowhere.json: expected a file or a directory, found neither"),
        ([str(OWN), "--layout", "locomo"], "expected the layout of locomo, found an object with 'conversation'"),
        (["--engine", "sqlite", "--embedder", "openai", "--limit", "1"], "embedder 'openai' needs the name of a model"),
    ],
)
def test_an_impossible_run_is_reported_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("THREADKEEP_EMBEDDER_MODEL", raising=False)
    assert main(arguments) == 2
    result = capsys.readouterr().err.lstrip()
    assert result.startswith("bench-recall: ")
    assert message in result


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--modes", "ranked,fuzzy"], "must be some of substring, ranked, semantic, hybrid"),
        (["--modes", "hybrid", "--embedder", "none"], "hybrid need an embedder"),
        (["--limit", "-1"], "must be 0 or more"),
        (["--json", "/no/such/place/out.json"], "there is no directory /no/such/place"),
    ],
)
def test_wrong_options_are_rejected_before_the_start(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(arguments)
    assert refused.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())
