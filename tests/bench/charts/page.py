"""The page with the charts, as Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.bench import machine
from tests.bench.charts.bars import Chart

FOLDER = "benchmarks"
_HEAD = """# Benchmark charts

<!-- `make bench-charts` writes this page. -->

What `make bench` and `make bench-peers` measured, with the command that measures it again. [Benchmarks](benchmarks.md)
describes the measurements, the baselines and the targets. Absolute times are those of this machine; do not quote them on
their own."""
_ROWS = (
    ("version", "threadkeep"),
    ("measured on", "started"),
    ("scale", "scale"),
    ("processor", "processor"),
    ("cores", "cores"),
    ("system", "system"),
    ("Python", "python"),
    ("processes that ran before (load)", "load"),
)


def page(
    lines: Sequence[Chart],
    peers: Sequence[Chart],
    runs: Sequence[tuple[str, Mapping[str, Any], str]],
    left_out: Sequence[tuple[str, str]],
    kept: Sequence[str],
) -> str:
    """The text. `runs` are the programs that measured, each with its facts and its file; `kept` are all files of results."""
    parts = [_HEAD, "\n".join(_facts(runs)), *_warnings(runs)]
    for chart in lines:
        parts += _section("##", chart)
    if peers:
        parts.append("## Other session stores")
        parts.append(
            "Compare appends only between stores of equal durability: the note of each says how often it calls fsync. Blue is "
            "Threadkeep; gray stores do not wait for the disk."
        )
    for chart in peers:
        parts += _section("###", chart)
    if left_out:
        parts += ["Not measured here:", "\n".join(f"- {store}: {' '.join(why.split())}" for store, why in left_out)]
    parts += ["## Results of each version", "\n".join(f"- [{name}]({FOLDER}/{name})" for name in kept)]
    return "\n\n".join(parts) + "\n"


def _facts(runs: Sequence[tuple[str, Mapping[str, Any], str]]) -> Iterator[str]:
    yield "| | " + " | ".join(f"`{program}`" for program, _, _ in runs) + " |"
    yield "| --- |" + " --- |" * len(runs)
    for heading, key in _ROWS:
        yield f"| {heading} | " + " | ".join(_fact(key, run.get(key)) for _, run, _ in runs) + " |"
    yield "| results | " + " | ".join(f"[{file}]({FOLDER}/{file})" for _, _, file in runs) + " |"


def _fact(key: str, value: Any) -> str:
    return str(value).partition("T")[0] if key == "started" else str(value)


def _warnings(runs: Sequence[tuple[str, Mapping[str, Any], str]]) -> Iterator[str]:
    for program, run, _ in runs:
        if busy := machine.busy(run):
            yield (
                f"**Other work was running when `{program}` was run** ({busy}): the ratios of such a run vary, and targets may "
                "be missed for that alone."
            )
        if run.get("interrupted"):
            yield f"**`{program}` was interrupted**: some lines are missing."


def _section(level: str, chart: Chart) -> Iterator[str]:
    yield f"{level} {chart.title.partition(':')[0]}"
    yield f"```\n{chart.command}\n```"
    yield f"![{chart.title}]({FOLDER}/{chart.slug}.svg)"
