"""Every page and its main action, reached and used by keys only."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

import threadkeep
from tests.support.servers.server_process import ServerProcess

from . import views

MOST = 80
"""Steps to an element of a page."""


def tab_to(page: Page, name: str, *, role: str = "") -> None:
    """Presses Tab until the focus is on the element with this accessible name."""
    target = page.get_by_role(role, name=name) if role else page.get_by_label(name)  # type: ignore[arg-type]
    target.first.wait_for()
    focused = "(them) => them.some((it) => it === document.activeElement)"
    for _ in range(MOST):
        page.keyboard.press("Tab")
        if target.evaluate_all(focused):
            return
    raise AssertionError(f"no way by keys to {name}")


def use(page: Page, name: str, *, role: str = "", key: str = "Enter") -> None:
    tab_to(page, name, role=role)
    page.keyboard.press(key)


def test_pages_and_actions_need_no_pointer(platform: str, page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    if platform.startswith("firefox"):
        pytest.skip("a process of Firefox ESR ends with a segmentation fault when WebDriver presses Tab in a session's page")
    views.tell(client)
    page.goto(f"http://{server.http_address}/console/overview")
    expect(page.locator(".numbers .value").first).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()

    page.reload()
    use(page, "Sessions", role="link")
    tab_to(page, "Id begins with")
    page.keyboard.type(views.SESSION)
    use(page, views.SESSION, role="link")
    expect(page.locator('[data-seq="11"]')).to_be_visible()

    tab_to(page, "Go to seq")
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    expect(page.locator('[data-seq="3"].marked')).to_be_visible()
    tab_to(page, "Find")
    page.keyboard.type("order")
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile(r"1 of \d"))).to_be_visible()
    use(page, "Next hit", role="button")
    expect(page.get_by_text(re.compile(r"2 of \d"))).to_be_visible()
    use(page, "Follow", role="switch", key="Space")
    expect(page.get_by_role("switch", name="Follow")).to_be_checked()
    use(page, "Raw and copy, event 1", role="button")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Raw and copy, event 1", exact=True)).to_be_focused()

    page.locator("body").press("Control+Home")
    page.reload()
    use(page, "Context", role="link")
    use(page, "Turns at most", key="ArrowRight")
    expect(page.get_by_text("2 events, 1 turn")).to_be_visible()
    use(page, "Dry run", role="button")
    expect(page.get_by_text("There is nothing to compact.")).to_be_visible()

    for name, shows in {
        "Details": '[aria-label="Branches"] :text("root")',
        "Search": "main",
        "Memories": ".memory",
        "Changes": ".live",
        "Policies": "main h1",
        "Access": "main dl",
    }.items():
        page.reload()
        use(page, name, role="link")
        expect(page.locator(shows).first).to_be_visible()
        assert name.lower() in page.url, page.url
