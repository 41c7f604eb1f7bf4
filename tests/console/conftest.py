"""One server and one browser for the tests of the console; each test has sessions of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

import threadkeep
from tests.support.runs.toolchains import require
from tests.support.servers.server_process import ServerProcess, fork_server, free_port

from .browsers import PATIENCE, chromium

TOKENS = (
    '{"open-sesame-0123456789": {"tenant": "acme"}, "of-nobody-0123456789": {"tenant": "empty"},'
    ' "only-alice-0123456789": {"tenant": "acme", "user_id": "alice", "roles": ["reader"]}}'
)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    require("console")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright, chromium(playwright) as opened:
        yield opened


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    root = tmp_path_factory.mktemp("console")
    with ServerProcess(fork_server(), root, http_address=f"127.0.0.1:{free_port()}") as started:
        yield started.start()


@pytest.fixture(scope="package")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that requires a token."""
    root = tmp_path_factory.mktemp("guarded")
    with ServerProcess(fork_server(), root, http_address=f"127.0.0.1:{free_port()}", auth_tokens=TOKENS) as started:
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
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda said: faults.append(said.text) if "Content Security Policy" in said.text else None)
    opened.on("request", lambda request: origins.add("/".join(request.url.split("/")[:3])))
    yield opened
    context.close()
    assert not faults
    assert len({origin for origin in origins if origin.startswith("http")}) <= 1, origins
