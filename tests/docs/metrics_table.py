"""Writes the table of metrics in docs/operations/observability.md: `python -m tests.docs.metrics_table`."""

from __future__ import annotations

from pathlib import Path

from threadkeep_server.telemetry import definitions
from threadkeep_server.telemetry.instruments import Definition

PAGE = Path(__file__).parents[2] / "docs" / "operations" / "observability.md"
BEGIN = "<!-- metrics: written by `python -m tests.docs.metrics_table` -->\n"
END = "<!-- end of metrics -->\n"


def all_metrics() -> list[Definition]:
    """Returns the definitions, in their order."""
    return [each for each in vars(definitions).values() if isinstance(each, Definition)]


def written(page: str) -> str:
    """Returns the page with the table of all metrics."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{_table()}{END}{after}"


def _table() -> str:
    lines = ["| metric | kind | meaning |", "| --- | --- | --- |"]
    return "\n".join([*lines, *map(_row, all_metrics())]) + "\n"


def _row(each: Definition) -> str:
    labels = f"{{{','.join(each.prometheus_labels)}}}" if each.labels else ""
    omitted = f" Omitted {each.omitted}." if each.omitted else ""
    return f"| `{each.prometheus_name}{labels}` | {each.kind.value} | {each.text}{omitted} |"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
