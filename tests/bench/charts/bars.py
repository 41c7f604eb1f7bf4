"""Horizontal bars in groups, with a mark where a bar has a target."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tests.bench.charts.svg import Drawing

WIDTH = 760
MARGIN = 16
RIGHT = WIDTH - MARGIN
LABELS = 88  # of bars
VALUES = 150  # to the right of the longest bar
LABEL_CHARACTERS = 82
TOP = 92  # of the first group
BAR, BAR_STEP, GROUP_GAP, HEADING = 14, 19, 13, 20
BEYOND = 2.5  # times the highest target: longer bars are cut off, or the others would be too short to read


@dataclass(frozen=True)
class Bar:
    """One number."""

    label: str
    value: float
    text: str
    color: str
    mark: float | None = None


@dataclass(frozen=True)
class Group:
    """Bars with a heading, and a note at its end."""

    heading: str
    note: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Chart:
    """A file: its name without the suffix, what it shows, and the command that measures it."""

    slug: str
    title: str
    subtitle: str
    groups: tuple[Group, ...]
    command: str = ""

    @property
    def description(self) -> str:
        """The numbers as text, for those who do not see the bars."""
        found = (
            f"{group.heading}: {'; '.join(f'{bar.label} {bar.text}'.strip() for bar in group.bars)}" for group in self.groups
        )
        return ". ".join(found)


def step(limit: float) -> float:
    """The distance of the marks of an axis: 1, 2 or 5 times a power of ten, so that there are four to nine."""
    power: float = 10 ** math.floor(math.log10(limit / 4))
    return next(factor * power for factor in (5, 2, 1) if limit / (factor * power) >= 4)


def limit_of(chart: Chart) -> float:
    """Where the axis ends."""
    bars = [bar for group in chart.groups for bar in group.bars]
    marks = [bar.mark for bar in bars if bar.mark is not None]
    longest = max([bar.value for bar in bars] + marks)
    return min(longest, BEYOND * max(marks)) * 1.02 if marks else longest * 1.02


def draw(chart: Chart) -> str:
    """The chart as SVG."""
    heights = [HEADING + BAR_STEP * len(group.bars) + GROUP_GAP for group in chart.groups]
    bottom = TOP + sum(heights)
    drawing = Drawing(WIDTH, bottom + MARGIN, chart.title, chart.description)
    drawing.text(MARGIN, 30, chart.title, size=18, bold=True)
    drawing.text(MARGIN, 52, chart.subtitle, "faint", size=13)
    labeled = any(bar.label for group in chart.groups for bar in group.bars)
    axis = _Axis(MARGIN + (LABELS if labeled else 0), limit_of(chart) or 1.0)
    for tick in axis.ticks():
        drawing.line(axis.at(tick), TOP - 12, bottom - GROUP_GAP, "grid")
        drawing.text(axis.at(tick), TOP - 18, f"{tick:g}", "faint", size=12, anchor="middle")
    top = TOP
    for group, height in zip(chart.groups, heights, strict=True):
        _group(drawing, axis, group, top)
        top += height
    return drawing.render()


@dataclass(frozen=True)
class _Axis:
    left: float
    limit: float

    def at(self, value: float) -> float:
        return self.left + min(value / self.limit, 1.0) * (RIGHT - VALUES - self.left)

    def ticks(self) -> Iterator[float]:
        distance = step(self.limit)
        for number in range(int(self.limit / distance) + 1):
            yield number * distance


def _group(drawing: Drawing, axis: _Axis, group: Group, top: float) -> None:
    room = LABEL_CHARACTERS - len(group.note)
    heading = group.heading if len(group.heading) <= room else group.heading[: room - 1].rstrip() + "…"
    # The grid must not cross text.
    drawing.box(MARGIN, top, RIGHT - MARGIN, HEADING - 4, "page")
    drawing.text(MARGIN, top + 13, heading)
    if group.note:
        drawing.text(RIGHT, top + 13, group.note, "faint", size=13, anchor="end")
    previous: float | None = None
    for number, bar in enumerate(group.bars):
        y = top + HEADING + BAR_STEP * number
        drawing.text(MARGIN, y + 11, bar.label, size=13)
        end = axis.at(bar.value)
        drawing.box(axis.left, y, max(end - axis.left, 1.0), BAR, bar.color)
        if bar.mark is not None:
            drawing.line(axis.at(bar.mark), y - 1, y + BAR + 1, "ink", 2.5)
            if bar.mark != previous:
                drawing.triangle(axis.at(bar.mark), y + 1, "ink")
            end = max(end, axis.at(bar.mark))
        previous = bar.mark
        beyond = " →" if bar.value > axis.limit else ""
        drawing.text(end + 8, y + 11, f"{bar.text}{beyond}", size=13)
