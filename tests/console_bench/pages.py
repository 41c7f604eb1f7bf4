"""How fast each page shows its data, opened by its address without a cache."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from playwright.sync_api import Browser

from tests.console import views

WITHOUT_DATA = frozenset({"no-session", "no-page"})


def first_views(browser: Browser, url: str, opens: int) -> Iterator[str]:
    """Opens every page of `views` so many times in turn; yields a line per page: milliseconds until its data is visible."""
    pages = [view for view in views.VIEWS if view.name not in WITHOUT_DATA]
    times: dict[str, list[float]] = {view.name: [] for view in pages}
    for _ in range(opens):
        for view in pages:
            times[view.name].append(_opened(browser, f"{url}{view.path}", view.shows))
    for name, each in times.items():
        yield f"first view of {name}: median {statistics.median(each):.0f} ms, {min(each):.0f} to {max(each):.0f} ms of {opens}"


def _opened(browser: Browser, address: str, shows: str) -> float:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(address, wait_until="commit")
    page.locator(shows).first.wait_for()
    milliseconds = float(page.evaluate("performance.now()"))
    context.close()
    return milliseconds
