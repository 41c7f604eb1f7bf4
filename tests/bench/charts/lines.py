"""The charts of `make bench`: lines with a target, grouped by what their ratio means."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.bench.charts.bars import Bar, Chart, Group
from tests.bench.results import LESS, MORE, Results, Row

ENGINES = {"sqlite": ("SQLite", "blue"), "postgres": ("PostgreSQL", "orange")}
OTHER_ENGINE = "gray"
MANY_TIMES = 5  # a target of so many times the baseline is no rate close to 1: it has a chart of its own


@dataclass(frozen=True)
class Kind:
    """Lines that share an axis."""

    slug: str
    title: str
    subtitle: str
    relation: str
    unit: str = ""
    many: bool = False

    def has(self, row: Row) -> bool:
        """Whether the line belongs to it."""
        bound = row.bound or 0.0
        return (row.relation, row.unit, row.relation == MORE and bound >= MANY_TIMES) == (self.relation, self.unit, self.many)


_MARK = "the triangle marks the target"
KINDS = (
    Kind("rates", "Rates: longer is better", f"Rate ÷ the rate of a baseline of the same run; {_MARK}", MORE),
    Kind("speedups", "Times faster: longer is better", f"Time of the slow way ÷ time; {_MARK}", MORE, many=True),
    Kind("costs", "Times and costs: shorter is better", f"Time or memory ÷ that of a baseline of the same run; {_MARK}", LESS),
    Kind("waits", "Waits in milliseconds: shorter is better", f"{_MARK.capitalize()}", LESS, "ms"),
    Kind("memory", "Memory in MiB: shorter is better", f"Resident; {_MARK}", LESS, "MiB"),
)


def charts(results: Results) -> Iterator[Chart]:
    """A chart of each kind that was measured."""
    for kind in KINDS:
        rows = [row for row in results.rows if row.ratio is not None and row.bound is not None and kind.has(row)]
        if rows:
            yield Chart(kind.slug, kind.title, kind.subtitle, tuple(_groups(rows)), command(results, rows))


def command(results: Results, rows: Sequence[Row]) -> str:
    """What measures these lines again."""
    names = list(dict.fromkeys(row.name for row in rows))
    engines = results.run.get("engines") or []
    engine = f" --engine {engines[0]}" if len(engines) == 1 else ""
    scale = "" if results.run.get("scale") == "full" else f"--scale {results.run.get('scale')} "
    return f'make bench ARGS="{scale}--only {" ".join(names)}{engine}"'


def _groups(rows: Sequence[Row]) -> Iterator[Group]:
    keys = dict.fromkeys((row.name, row.text.strip(), row.number) for row in rows)
    for name, text, number in keys:
        same = [row for row in rows if (row.name, row.text.strip(), row.number) == (name, text, number)]
        targets = " / ".join(dict.fromkeys(row.target for row in same))
        yield Group(f"{name}: {text}", targets, tuple(_bar(row) for row in same))


def _bar(row: Row) -> Bar:
    label, color = ENGINES.get(row.engine, (row.engine, OTHER_ENGINE))
    ratio = row.ratio or 0.0
    text = f"{ratio:,.{2 if ratio < 100 else 0}f}{' ' + row.unit if row.unit else ''}"
    return Bar(label, ratio, text if row.met else f"{text}, missed", color, row.bound)
