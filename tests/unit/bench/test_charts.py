"""The charts of a run: which bars they have, that they are well formed, and the page that shows them."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.bench.charts import lines, peers
from tests.bench.charts.__main__ import PAGE, main
from tests.bench.charts.bars import WIDTH, Bar, Chart, Group, draw, limit_of, step
from tests.bench.charts.svg import COLORS
from tests.bench.peers import table
from tests.bench.peers.catalog import PEERS as CATALOG
from tests.bench.peers.catalog import THREADKEEP, THREADKEEP_PLAIN, Peer
from tests.bench.peers.runner import Outcome
from tests.bench.report import at_least, at_most
from tests.bench.results import read
from tests.unit.bench.files import RUN, line, write

ROOT = Path(__file__).parents[3]
SVG = "{http://www.w3.org/2000/svg}"
LINES = [
    line("unary", 0.53, at_least(0.8), text="append ÷ echo"),
    line("unary", 0.9, at_least(0.8), text="append ÷ echo", engine="postgres"),
    line("unary", 2.2, at_most(2.5), text="  its 99th percentile"),
    line("search", 47.0, at_least(20), text="a rare word"),
    line("memory", 103.0, at_most(150, " MiB"), text="idle"),
    line("neighbors", 31.2, at_most(50, " ms"), text="slowest append"),
    line("indexing", 0.5, text="no target"),
    line("last", None, error="ChildError"),
]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No results of a real run are in the folder."""
    monkeypatch.chdir(tmp_path)


def stores(path: Path, **facts: Any) -> Path:
    """Results of two peers, one of which does not wait for the disk, and one that was skipped."""

    def outcome(peer: Peer, milliseconds: float, syncs: float) -> Outcome:
        times = {(name, length): milliseconds for name in ("append", "last", "whole") for length in (10, 1000)}
        return Outcome(peer, "sqlite", "1.2", times, {}, "", syncs)

    named = {peer.name: peer for peer in CATALOG}
    own = outcome(THREADKEEP, 0.5, 1.0)
    found = [
        own,
        outcome(named["redis-everysec"], 0.25, 0.01),
        outcome(named["adk"], 12.4, 4.0),
        outcome(THREADKEEP_PLAIN, 0.4, 1.0),
    ]
    found.append(Outcome(named["kurrentdb"], "sqlite", skipped="no kurrentd: install\nit"))
    table.write(path, [table.entry(each, own) for each in found], RUN | {"engines": ["sqlite"]} | facts)
    return path


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text")]


def test_lines_with_a_target_are_grouped_by_what_their_ratio_means(tmp_path: Path) -> None:
    found = list(lines.charts(read(write(tmp_path / "b.json", LINES, engines=["sqlite", "postgres"]))))
    assert [chart.slug for chart in found] == ["rates", "speedups", "costs", "waits", "memory"]
    assert found[0].groups == (
        Group(
            "unary: append ÷ echo",
            "≥ 0.8",
            (Bar("SQLite", 0.53, "0.53, missed", "blue", 0.8), Bar("PostgreSQL", 0.9, "0.90", "orange", 0.8)),
        ),
    )
    assert found[0].command == 'make bench ARGS="--scale small --only unary"'
    assert [bar.text for bar in found[3].groups[0].bars + found[4].groups[0].bars] == ["31.20 ms", "103 MiB"]


def test_the_command_measures_the_same_engine_at_the_same_scale(tmp_path: Path) -> None:
    results = read(write(tmp_path / "b.json", LINES, scale="full", engines=["sqlite"]))
    assert next(lines.charts(results)).command == 'make bench ARGS="--only unary --engine sqlite"'


def test_a_chart_is_well_formed_and_inside_its_frame(tmp_path: Path) -> None:
    odd = Chart(
        "x", '<A> & "B"', "s", (Group("h" * 200, "≥ 1", (Bar("SQLite", 99.0, "99", "blue", 1.0), Bar("", 0.0, "0", "gray"))),)
    )
    root = ET.fromstring(draw(odd))
    assert root.find(f"{SVG}title").text == '<A> & "B"'  # type: ignore[union-attr]
    assert "SQLite 99" in (root.find(f"{SVG}desc").text or "")  # type: ignore[union-attr]
    for box in root.iter(f"{SVG}rect"):
        assert float(box.attrib["x"]) + float(box.attrib["width"]) <= WIDTH
        assert float(box.attrib["width"]) > 0
    shown = texts(draw(odd))
    assert "99 →" in shown  # beyond the axis
    assert max(map(len, shown)) <= 82


@pytest.mark.parametrize(("limit", "distance"), [(1.2, 0.2), (1.0, 0.2), (4.7, 1), (40, 10), (625, 100), (0.05, 0.01)])
def test_an_axis_has_round_marks(limit: float, distance: float) -> None:
    assert step(limit) == pytest.approx(distance)
    assert 4 <= int(limit / step(limit)) <= 9


def test_one_long_bar_does_not_make_the_others_unreadable() -> None:
    bars = (Bar("", 0.9, "", "blue", 1.0), Bar("", 80.0, "", "blue", 1.2))
    assert limit_of(Chart("x", "", "", (Group("", "", bars),))) == pytest.approx(3.06)


def luminance(color: str) -> float:
    """By the definition of WCAG."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize(("color", "least"), [("ink", 7), ("faint", 4.5), ("blue", 3), ("orange", 3), ("gray", 3)])
def test_colors_are_legible_on_the_page_of_their_theme(theme: int, color: str, least: float) -> None:
    bright, dark = sorted((luminance(COLORS[name][theme]) for name in (color, "page")), reverse=True)
    assert (bright + 0.05) / (dark + 0.05) >= least


def test_peers_are_shown_with_their_durability(tmp_path: Path) -> None:
    found = list(peers.charts(peers.read(stores(tmp_path / "p.json"))))
    assert [chart.slug for chart in found] == ["peers-sqlite-append", "peers-sqlite-last", "peers-sqlite-whole"]
    append, last, _ = found
    assert [(group.heading, group.note, group.bars[0].text, group.bars[0].color) for group in append.groups] == [
        ("Threadkeep over gRPC 1.2", "fsync, 1.0 per append", "0.50 ms", "blue"),
        ("Redis streams, appendfsync everysec (the default) 1.2", "no fsync, 0.01 per append", "0.25 ms", "gray"),
        ("google-adk DatabaseSessionService 1.2", "fsync, 4.0 per append", "12 ms", "orange"),
        ("Threadkeep over gRPC, search index off 1.2", "fsync, 1.0 per append", "0.40 ms", "blue"),
    ]
    assert {group.note for group in last.groups} == {""}
    assert "1,000 events" in append.subtitle
    assert append.command == ('make bench-peers ARGS="--scale small --engine sqlite --only adk redis-everysec kurrentdb"')


def test_the_program_keeps_the_results_and_writes_charts_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    docs = tmp_path / "docs"
    (docs / "benchmarks").mkdir(parents=True)
    (docs / "benchmarks/old.svg").touch()
    (docs / "benchmarks/0.0.9.json").touch()
    source, others = write(tmp_path / "b.json", LINES), stores(tmp_path / "p.json", load=3.0)
    assert main([str(source), "--peers", str(others), "--docs", str(docs)]) == 0
    kept = {path.name for path in (docs / "benchmarks").iterdir()}
    assert {"0.0.9.json", "0.1.0.json", "0.1.0-peers.json", "rates.svg", "peers-sqlite-append.svg"} <= kept
    assert "old.svg" not in kept
    assert (docs / "benchmarks/0.1.0.json").read_bytes() == source.read_bytes()
    text = (docs / PAGE).read_text()
    assert set(re.findall(r"!\[[^]]+\]\(benchmarks/(.+?)\)", text)) == {name for name in kept if name.endswith(".svg")}
    assert text.count("```\nmake bench") == text.count("![")
    assert "| processor | A processor | A processor |" in text
    assert "Other work was running when `make bench-peers` was run** (a load of 3 on 2 cores)" in text
    assert "Other work was running when `make bench` was run" not in text
    assert "- KurrentDB over gRPC: no kurrentd: install it" in text
    assert "[0.0.9.json](benchmarks/0.0.9.json)" in text
    assert str(docs / PAGE) in capsys.readouterr().out


def test_the_kept_results_of_peers_are_used_when_there_is_no_new_run(tmp_path: Path) -> None:
    write(tmp_path / "bench.json", LINES)
    (tmp_path / "docs/benchmarks").mkdir(parents=True)
    stores(tmp_path / "docs/benchmarks/0.1.0-peers.json")
    assert main([]) == 0
    assert (tmp_path / "docs/benchmarks/peers-sqlite-append.svg").exists()


def test_kept_results_are_drawn_again_without_a_newer_run(tmp_path: Path) -> None:
    kept = tmp_path / "docs/benchmarks"
    kept.mkdir(parents=True)
    write(kept / "0.1.0.json", LINES)
    stores(kept / "0.1.0-peers.json", load=0.2)
    stores(tmp_path / "bench-peers.json", load=0.7)
    assert main(["docs/benchmarks/0.1.0.json"]) == 0
    assert "| 0.1 | 0.2 |" in (tmp_path / "docs" / PAGE).read_text()


def test_peers_of_another_version_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "bench.json", LINES)
    stores(tmp_path / "bench-peers.json", threadkeep="0.0.9")
    assert main([]) == 2
    assert "bench-peers.json: measured version 0.0.9, and bench.json measured 0.1.0" in capsys.readouterr().err
    assert not (tmp_path / "docs").exists()


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"scale": "quick"}, "measured with --quick"),
        ({"threadkeep": None}, "does not say which version it measured"),
        ({"threadkeep": "../x"}, "does not say which version it measured"),
    ],
)
def test_results_that_show_nothing_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], facts: dict[str, Any], reason: str
) -> None:
    docs = tmp_path / "docs"
    assert main([str(write(tmp_path / "b.json", LINES, **facts)), "--docs", str(docs)]) == 2
    assert reason in capsys.readouterr().err
    assert not docs.exists()


def test_results_without_targets_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(write(tmp_path / "b.json", [line("unary", 1.0)])), "--docs", str(tmp_path / "docs")]) == 2
    assert "no line with a target was measured" in capsys.readouterr().err


def test_the_committed_charts_are_those_of_the_kept_results(tmp_path: Path) -> None:
    docs = ROOT / "docs"
    shutil.copytree(docs / "benchmarks", tmp_path / "benchmarks")
    row = next(part for part in (docs / PAGE).read_text().splitlines() if part.startswith("| results |"))
    files = [str(tmp_path / "benchmarks" / name) for name in re.findall(r"\(benchmarks/(.+?)\)", row)]
    others = ["--peers", files[1]] if files[1:] else []
    assert main([files[0], *others, "--docs", str(tmp_path)]) == 0
    assert (tmp_path / PAGE).read_text() == (docs / PAGE).read_text()
    drawn, committed = (sorted((folder / "benchmarks").glob("*.svg")) for folder in (tmp_path, docs))
    assert [chart.name for chart in drawn] == [chart.name for chart in committed]
    assert [chart.read_text() for chart in drawn] == [chart.read_text() for chart in committed], "run `make bench-charts`"
