"""What became better or worse from one run to another. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.bench import machine
from tests.bench.results import LESS, MORE, Results, Row

WORSE, BETTER, SAME, INFO, FAILED = "worse", "better", "same", "info", "failed"
ROUNDING = 1e-9  # a change by exactly the threshold is not worse, whatever the last bit of the division is
# Facts about a run that must be equal for its ratios to be comparable, with the word for each.
CONDITIONS = {"scale": "scale", "processor": "processor", "cores": "number of cores", "system": "system", "python": "Python"}


@dataclass(frozen=True)
class Pair:
    """A line that both runs have."""

    before: Row
    after: Row
    verdict: str

    @property
    def change(self) -> float | None:
        """By how many percent the ratio grew; None where that is undefined."""
        if self.before.ratio is None or self.after.ratio is None or self.before.ratio == 0:
            return None
        return (self.after.ratio / self.before.ratio - 1) * 100


@dataclass(frozen=True)
class Comparison:
    """Two runs, line by line."""

    pairs: tuple[Pair, ...]
    only_before: tuple[Row, ...]
    only_after: tuple[Row, ...]
    warnings: tuple[str, ...]

    def count(self, *verdicts: str) -> int:
        """How many lines have one of these verdicts."""
        return sum(pair.verdict in verdicts for pair in self.pairs)

    @property
    def regressed(self) -> bool:
        """Whether a line became worse, or was measured before and fails now."""
        return self.count(WORSE, FAILED) > 0


def compare(before: Results, after: Results, threshold: float) -> Comparison:
    """Judges each line that both runs measured; `threshold` is the percentage beyond which a change counts."""
    old = {row.key: row for row in before.rows if row.ratio is not None}
    new = {row.key: row for row in after.rows if row.ratio is not None}
    # A measurement that fails leaves one line in place of all of its lines.
    failed = {(row.name, row.engine): row for row in after.rows if row.error}
    later = {key: new.get(key) or failed.get((row.name, row.engine)) for key, row in old.items()}
    return Comparison(
        tuple(_pair(old[key], row, threshold) for key, row in later.items() if row is not None),
        tuple(old[key] for key, row in later.items() if row is None),
        tuple(row for key, row in new.items() if key not in old),
        tuple(_warnings(before.run, after.run)),
    )


def _pair(before: Row, after: Row, threshold: float) -> Pair:
    if after.error:
        return Pair(before, after, FAILED)
    change = Pair(before, after, INFO).change
    # The new run's target says what is better; a line without one is shown and not judged.
    relation = after.relation or before.relation
    if change is None or not relation:
        return Pair(before, after, INFO)
    loss = {MORE: -change, LESS: change}[relation]
    if loss > threshold + ROUNDING:
        return Pair(before, after, WORSE)
    return Pair(before, after, BETTER if loss < -threshold - ROUNDING else SAME)


def _warnings(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for key, word in CONDITIONS.items():
        old, new = before.get(key), after.get(key)
        if key not in before or key not in after:
            yield f"a file does not say its {word}"
        elif old != new:
            yield f"the runs differ in {word}: {old} and {new}"
    for run, word in ((before, "first"), (after, "second")):
        if busy := machine.busy(run):
            yield f"other work was running when the {word} run began: {busy}"
        if run.get("interrupted"):
            yield f"the {word} run was interrupted"
        if run.get("scale") == "quick":
            yield f"the {word} run has tiny sizes: nothing in it is a measurement"
