"""Scrolls the timeline as readers do, and measures the frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import CDPSession, Page

COSTS = {"TaskDuration": "task", "ScriptDuration": "script", "LayoutDuration": "layout", "RecalcStyleDuration": "style"}

THUMB = 20
"""Pixels from the end of the scrollbar to the middle of its thumb: past the button, and the thumb is as small as it can be."""
FRAME = 1000 / 60
LATE = 2 * FRAME


@dataclass(frozen=True)
class Frames:
    """Milliseconds between frames, and of the processor's time that the main thread took."""

    times: list[float]
    waiting: int
    """Frames with an event on the page that was not read yet."""
    costs: dict[str, float]

    def __str__(self) -> str:
        ordered = sorted(self.times)
        p50, p95 = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95))
        late = sum(each > LATE for each in ordered) / len(ordered)
        due = sum(ordered) / FRAME
        costs = ", ".join(f"{name} {value / due:.2f}" for name, value in self.costs.items())
        return (
            f"{len(ordered)} frames, p50 {p50:.1f} ms, p95 {p95:.1f} ms, slowest {ordered[-1]:.0f} ms;"
            f" {late:.0%} over {LATE:.0f} ms; {self.waiting / len(ordered):.0%} with an event to be read;"
            f" ms of the main thread per frame at 60 Hz: {costs}"
        )


def measured(page: Page, devtools: CDPSession, act: Callable[[], object]) -> Frames:
    """Returns the frames while `act` runs."""
    before = _costs(devtools)
    page.evaluate("Object.assign(probe, {frames: [], waiting: 0, isOn: true})")
    act()
    times, waiting = page.evaluate("(probe.isOn = false, [probe.frames, probe.waiting])")
    after = _costs(devtools)
    costs = {name: 1000 * (after[name] - before[name]) for name in before}
    return Frames(times, waiting, costs)


def _costs(devtools: CDPSession) -> dict[str, float]:
    found = {each["name"]: each["value"] for each in devtools.send("Performance.getMetrics")["metrics"]}
    return {name: found[metric] for metric, name in COSTS.items()}


def wheel(page: Page, devtools: CDPSession, *, pixels: int, speed: int) -> None:
    """Turns the wheel: `pixels` up (positive) at this speed in pixels per second."""
    box = _scroller(page)
    middle = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    gesture = {"yDistance": pixels, "speed": speed, "gestureSourceType": "mouse", "preventFling": True}
    devtools.send("Input.synthesizeScrollGesture", middle | gesture)


def drag(page: Page, steps: int, share: float) -> None:
    """Drags the scrollbar from the end up by this share of its track, at a step per frame."""
    box = _scroller(page)
    x, bottom = box["x"] + box["width"] - 6, box["y"] + box["height"]
    start = bottom - THUMB
    page.mouse.move(x, start)
    page.mouse.down()
    for step in range(1, steps + 1):
        page.mouse.move(x, start - box["height"] * share * step / steps)
        page.wait_for_timeout(16)
    page.mouse.up()


def _scroller(page: Page) -> dict[str, float]:
    box = page.locator(".timeline > .scroller").bounding_box()
    assert box is not None
    return {name: box[name] for name in ("x", "y", "width", "height")}
