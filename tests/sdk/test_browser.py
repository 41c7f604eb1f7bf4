"""The TypeScript client in a browser: the example page, bundled, in headless Chromium, against a server that is killed."""

from __future__ import annotations

import functools
import re
import shutil
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect, sync_playwright

import threadkeep
from tests.conformance.drivers import building
from tests.console.browsers import ARGUMENTS
from tests.sdk import npm
from tests.support.runs.toolchains import require
from tests.support.servers.server_process import ServerProcess, fork_server, free_port
from threadkeep import assistant, tool_call, tool_result, user

PATIENCE = 60_000
"""Milliseconds. A server that was killed is up again in two or three seconds, and the page looks for it every few. A loaded
machine is much slower."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The URL of the bundled example, served as files."""
    require("browser")
    npm.install()
    with building("typescript"):
        npm.run("npm", "run", "example")
    folder = npm.PACKAGE / "build" / "browser"
    assert '"node:' not in (folder / "page.js").read_text(), "modules of Node are in the bundle"

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/index.html"
        server.shutdown()


@pytest.fixture(scope="module")
def page(site: str) -> Iterator[Page]:
    """An empty page of a browser."""
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS), timeout=3 * PATIENCE)
        opened = browser.new_page(viewport={"width": 900, "height": 860})
        opened.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        yield opened
        browser.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with ServerProcess(fork_server(), tmp_path, http_address=f"127.0.0.1:{free_port()}") as started:
        yield started.start()


def test_a_page_lists_a_session_and_follows_it_through_a_kill(
    site: str, page: Page, server: ServerProcess, tmp_path: Path
) -> None:
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    client = threadkeep.Client(server.address, app="shop", user_id="alice")
    client.append(
        "trip",
        user("Two of us want to see Lisbon in May."),
        assistant("Let me look.", tool_calls=[tool_call("c1", "flights", {"to": "LIS"})]),
        tool_result("c1", {"flight": "TP531", "at": "09:40"}, name="flights"),
        assistant("TP531 at 9:40. <b>Shall I book?</b>"),
        create_if_missing=True,
    )
    where = {"address": f"http://{server.http_address}", "app": "shop", "user": "alice", "session": "trip"}
    page.clock.install()
    page.goto(f"{site}?{urlencode(where)}")
    events, state = page.locator("#events > li"), page.locator("#state")

    expect(events).to_have_count(4)
    expect(events.nth(0)).to_contain_text("Two of us want to see Lisbon in May.")
    expect(events.nth(1)).to_contain_text('flights({"to":"LIS"})')
    expect(events.nth(2)).to_contain_text("TP531")
    expect(events.nth(3)).to_contain_text("<b>Shall I book?</b>")
    expect(state).to_have_text(re.compile("^Live: 4 events"))

    page.evaluate("window.untouched = true")
    client.append("trip", user("Yes, please."))
    expect(events).to_have_count(5)
    expect(events.nth(4)).to_contain_text("Yes, please.")

    server.kill()
    page.clock.fast_forward(21_000)
    expect(state).to_have_attribute("data-state", "away")
    expect(state).to_contain_text("Nothing heard")
    page.screenshot(path=tmp_path / "away.png", full_page=True)
    server.start()
    client.append("trip", assistant("Booked."), user("Thank you."))
    expect(events).to_have_count(7)
    expect(events.nth(5)).to_contain_text("Booked.")
    expect(state).to_have_text(re.compile("^Live: 7 events"))
    assert [event.get_attribute("data-seq") for event in events.all()] == [str(seq) for seq in range(1, 8)]
    assert page.evaluate("window.untouched"), "the page was reloaded"
    assert not faults

    picture = tmp_path / "page.png"
    page.screenshot(path=picture, full_page=True)
    print(f"the page as it ended: {picture}")
    client.close()


def test_a_page_shows_why_it_cannot_follow(site: str, page: Page, server: ServerProcess) -> None:
    page.goto(site)
    page.get_by_label("Server").fill(f"http://{server.http_address}")
    page.get_by_label("User").fill("alice")
    page.get_by_label("Session").fill("x" * 300)
    page.get_by_role("button").click()
    state = page.locator("#state")
    expect(state).to_have_attribute("data-state", "failed")
    expect(state).to_contain_text("session_id")
