"""One server and one browser for the tests of the console; each test has sessions of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Locator, Page, Playwright, expect, sync_playwright

import threadkeep
from tests.support.databases.postgres import PostgresCluster
from tests.support.runs.thoroughness import with_long
from tests.support.runs.toolchains import require
from tests.support.servers.server_process import ServerProcess, fork_server, free_port

from .browsers import PATIENCE, chromium, firefox

TOKENS = (
    '{"open-sesame-0123456789": {"tenant": "acme"}, "of-nobody-0123456789": {"tenant": "empty"},'
    ' "only-alice-0123456789": {"tenant": "acme", "user_id": "alice", "roles": ["reader"]}}'
)
ABORTED = ("Failed to read data from the ReadableStream", "AbortError: The operation was aborted")
"""What Firefox reports as an error of the page when the page aborts a call whose response it has not read."""
PLATFORMS = with_long(
    ("chromium-sqlite",), pytest.param("chromium-postgres", marks=pytest.mark.postgres), pytest.param("firefox-sqlite")
)
"""A browser and an engine each. The console is the same for every engine, so the short form has one of each."""


@pytest.fixture(scope="package", params=PLATFORMS)
def platform(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as started:
        yield started


class Launched:
    """A browser, and the one after it if it crashes: a fault of the browser fails one test and not all after it."""

    def __init__(self, launch: Callable[[], AbstractContextManager[Browser]], stack: ExitStack) -> None:
        self._launch = launch
        self._stack = stack
        self._running: Browser | None = None

    def now(self) -> Browser:
        if self._running is None or not self._lives(self._running):
            self._running = self._stack.enter_context(self._launch())
        return self._running

    def _lives(self, browser: Browser) -> bool:
        """That a browser has crashed may become known with its next call only."""
        try:
            browser.new_context().close()
        except Error:
            return False
        return True


@pytest.fixture(scope="package")
def launched(platform: str, playwright: Playwright, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    require("console")
    with ExitStack() as stack:
        if platform.startswith("firefox"):
            require("firefox")
            stack.enter_context(pytest.MonkeyPatch.context()).setattr(Locator, "fill", _type)
            yield Launched(lambda: firefox(playwright, tmp_path_factory.mktemp("firefox")), stack)
        else:
            yield Launched(lambda: chromium(playwright), stack)


@pytest.fixture
def browser(launched: Launched) -> Browser:
    return launched.now()


def _type(field: Locator, text: str) -> None:
    """Fills a field by its keys: a value that WebDriver sets in Firefox is no input to React."""
    field.focus()
    if field.get_attribute("type") == "range":
        for key in ["Home"] + ["ArrowRight"] * int(text):
            field.press(key)
        return
    field.press("ControlOrMeta+a")
    if text:
        field.press_sequentially(text)
    else:
        field.press("Delete")


@pytest.fixture(scope="package")
def server(platform: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    root = tmp_path_factory.mktemp("console")
    settings: dict[str, Any] = {}
    if platform.endswith("postgres"):
        cluster: PostgresCluster = request.getfixturevalue("postgres")
        settings["database_url"] = cluster.create_database(f"console_{os.getpid()}")
    with ServerProcess(fork_server(), root, http_address=f"127.0.0.1:{free_port()}", **settings) as started:
        yield started.start()


@pytest.fixture(scope="package")
def guarded(platform: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that requires a token."""
    root = tmp_path_factory.mktemp("guarded")
    settings = {"auth_tokens": TOKENS, "audit_log": str(root / "audit.log")}
    with ServerProcess(fork_server(), root, http_address=f"127.0.0.1:{free_port()}", **settings) as started:
        yield started.start()


@pytest.fixture(scope="package")
def client(server: ServerProcess) -> Iterator[threadkeep.Client]:
    with threadkeep.Client(server.address, app="shop", user_id="alice") as opened:
        yield opened


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page without faults, of a window of its own. Requests to other origins than the console's fail the test."""
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    faults: list[str] = []
    origins: set[str] = set()
    opened.on("pageerror", lambda error: None if any(each in str(error) for each in ABORTED) else faults.append(str(error)))
    opened.on("console", lambda said: faults.append(said.text) if "Content Security Policy" in said.text else None)
    opened.on("request", lambda request: origins.add("/".join(request.url.split("/")[:3])))
    yield opened
    context.close()
    assert not faults
    assert len({origin for origin in origins if origin.startswith("http")}) <= 1, origins
