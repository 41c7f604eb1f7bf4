"""`make bench-console`: how fast the console opens its pages and a session of 200,000 events, and how smoothly it scrolls."""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

import threadkeep
from tests.console import views
from tests.console.browsers import chromium
from tests.support.servers.server_process import ServerProcess, fork_server, free_port

from . import log, pages, scrolling

PROBE = Path(__file__).with_name("probe.js").read_text()
USER = "alice"
APP = "bench"


@contextmanager
def served(folder: Path, count: int) -> Iterator[ServerProcess]:
    """A server with the session."""
    with ServerProcess(fork_server(), folder, http_address=f"127.0.0.1:{free_port()}") as server:
        server.start()
        with threadkeep.Client(server.address, app=APP, user_id=USER) as client:
            log.fill(client, count)
        with threadkeep.Client(server.address, app=views.APP, user_id=views.USER) as client:
            views.tell(client)
        yield server


@contextmanager
def opened(browser: Browser, address: str, last: int) -> Iterator[tuple[Page, float]]:
    """Opens the page in a window without a cache; yields it with the milliseconds until its newest event was shown."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(f"{PROBE}\nprobe.last = {last};")
    page.goto(address)
    yield page, page.evaluate("probe.opened")
    context.close()


def measure(page: Page, name: str, act: Callable[[CDPSession], object]) -> None:
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.wait_for_timeout(1_000)
    print(f"{name}: {scrolling.measured(page, devtools, lambda: act(devtools))}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-console", description=__doc__)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--opens", type=int, default=7, help="how often each page is opened")
    parser.add_argument("--data", type=Path, help="folder whose session is used again in the next run")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as scratch,
        served(given.data or Path(scratch), given.events) as server,
        sync_playwright() as playwright,
        chromium(playwright, ignore_default_args=["--hide-scrollbars"]) as browser,
    ):
        print(f"load of the machine: {os.getloadavg()[0]:.1f} for {os.cpu_count()} cores")
        url = f"http://{server.http_address}/console/"
        for line in pages.first_views(browser, url, given.opens):
            print(line, flush=True)
        address = f"{url}session?app={APP}&user={USER}&id={log.SESSION}"
        times = []
        for _ in range(given.opens):
            with opened(browser, address, given.events) as (_, milliseconds):
                times.append(milliseconds)
        print(f"open: median {statistics.median(times):.0f} ms, {min(times):.0f} to {max(times):.0f} ms of {len(times)}")
        with opened(browser, address, given.events) as (page, _):
            measure(page, "no scrolling", lambda _: page.wait_for_timeout(1_000))
            measure(page, "scrollbar dragged", lambda _: scrolling.drag(page, 180, 0.6))
        for name, seq in {"end": given.events, "middle": given.events // 2, "beginning": min(300, given.events)}.items():
            with opened(browser, f"{address}&seq={seq}", seq) as (page, _):
                measure(page, f"wheel at the {name}", partial(scrolling.wheel, page, pixels=12_000, speed=3_000))
        print(f"load of the machine: {os.getloadavg()[0]:.1f}")


main()
