"""Hostile content shows as text, and every page is accessible."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Error, Page, expect

import threadkeep
from tests.sdk import console, npm
from tests.support.runs.thoroughness import LONG
from tests.support.runs.toolchains import require
from tests.support.servers.server_process import ServerProcess
from threadkeep import assistant, media, reasoning, tool_call, tool_result, user

from . import views
from .browsers import PATIENCE
from .conftest import Launched

AXE = console.PACKAGE / "node_modules/axe-core/axe.min.js"
ATTEMPTS = 6
"""For each page. A process of Firefox ESR ends in some runs while axe computes, by a write to address 0 in its own library."""
MARK = "window.hit=1"
SVG = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{MARK}"><script>{MARK}</script></svg>'
CORPUS = (
    f"<script>{MARK}</script>",
    f'<img src=x onerror="{MARK}">',
    SVG,
    f'<iframe srcdoc="<script>parent.{MARK}</script>"></iframe>',
    f"[link](javascript:{MARK})",
    f"[link](java\tscript:{MARK})",
    f"[link](data:text/html,<script>{MARK}</script>)",
    f"[link](vbscript:{MARK})",
    "![image](https://example.invalid/pixel.png)",
    f"![image](javascript:{MARK})",
    f"<javascript:{MARK}>",
    f"[a]: javascript:{MARK}\n\n[a]",
    f'```"><script>{MARK}</script>\ncode\n```',
    f'| a |\n| - |\n| <img src=x onerror="{MARK}"> |',
    f"&lt;script&gt;{MARK}&lt;/script&gt;",
    f'<a href="https://example.invalid" onclick="{MARK}">a</a><style>*{{display:none}}</style><base href="https://example.invalid">',
    f'{{"__proto__": {{"hit": 1}}, "x": "<img src=x onerror={MARK}>"}}',
    "> " * 2_000 + "deep",
    "- " * 2_000 + "deep",
    "> - " * 1_000 + "deep",
    "*a _b " * 300 + "deep" + " b_ a*" * 300,
    "**a _b ~~c " * 200 + "deep" + " c~~ b_ a**" * 200,
    "*a _b " * 3_000 + "deep" + " b_ a*" * 3_000,
    "\u202eright to left \u0000 nul",
)


def test_hostile_content_is_text(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    name = f'"><img src=x onerror="{MARK}">'
    events = [user(text, author=name) for text in CORPUS]
    events += [
        assistant([reasoning(text), text], tool_calls=[tool_call("c", name, {"a": text})], author=name) for text in CORPUS[:4]
    ]
    events += [tool_result("c", text, name=name) for text in CORPUS[:4]]
    events += [
        user(
            [
                media("image/svg+xml", data=SVG.encode()),
                media("text/html", data=CORPUS[0].encode()),
                media("image/png", uri="https://example.invalid/a.png"),
            ]
        )
    ]
    client.append("hostile", *events, create_if_missing=True)
    client.update_session("hostile", labels={"label": name})
    for seq in range(1, len(events) + 1, 5):
        page.goto(f"http://{server.http_address}/console/session?app=shop&user=alice&id=hostile&seq={seq}")
        expect(page.locator(f'[data-seq="{seq}"]')).to_be_in_viewport()
    page.goto(f"http://{server.http_address}/console/search?app=shop&user=alice&id=hostile&q=window.hit")
    expect(page.locator(".excerpt").first).to_be_visible()
    page.goto(f"http://{server.http_address}/console/sessions?prefix=hostile")
    expect(page.get_by_role("link", name="hostile")).to_be_visible()
    page.goto(
        f"http://{server.http_address}/console/session?app=shop&user=alice&id={'%22%3E%3Cscript%3Ewindow.hit=1%3C/script%3E'}"
    )
    expect(page.get_by_role("alert")).to_be_visible()
    assert page.evaluate("window.hit") is None
    assert page.evaluate("({}).hit") is None


def test_markup_of_messages_makes_no_elements(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    client.append("markup", *[user(text) for text in CORPUS], create_if_missing=True)
    for seq in (1, len(CORPUS)):
        page.goto(f"http://{server.http_address}/console/session?app=shop&user=alice&id=markup&seq={seq}")
        expect(page.locator(f'[data-seq="{seq}"]')).to_be_in_viewport()
        timeline = page.locator(".timeline .spread")
        assert timeline.locator("script, iframe, style, base, img, object, embed, form, link").count() == 0
        assert (
            page.evaluate(
                "document.querySelectorAll('.markdown :is(em, strong, del, blockquote, li) ' + '* '.repeat(30)).length"
            )
            == 0
        )
        links = [link.get_attribute("href") for link in timeline.locator(".markdown a").all()]
        assert all(href and href.startswith(("http:", "https:", "mailto:")) for href in links), links


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible(
    launched: Launched, platform: str, server: ServerProcess, client: threadkeep.Client, scheme: Literal["light", "dark"]
) -> None:
    """In the short form, each scheme has half of the pages."""
    require("typescript")
    npm.install(console.PACKAGE)
    views.tell(client)
    for view in views.VIEWS if LONG else views.VIEWS[scheme == "dark" :: 2]:
        for attempt in range(ATTEMPTS):
            try:
                serious = serious_violations(launched.now(), f"http://{server.http_address}/console/{view.path}", view, scheme)
                break
            except Error as crash:
                if not platform.startswith("firefox") or attempt == ATTEMPTS - 1:
                    raise
                print(f"Firefox ended while axe ran on {view.name}, attempt {attempt + 1} of {ATTEMPTS}: {crash.message[:80]}")
        assert not serious, view.name


def serious_violations(browser: Browser, url: str, view: views.View, scheme: Literal["light", "dark"]) -> list[Any]:
    with browser.new_context(viewport={"width": 1200, "height": 800}, color_scheme=scheme) as context:
        page = context.new_page()
        page.goto(url)
        expect(page.locator(view.shows).first).to_be_visible(timeout=PATIENCE)
        page.evaluate(AXE.read_text())  # by the debugger: the policy forbids scripts of others
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then((all) => all.violations)")
    return [(each["id"], each["nodes"][0]["html"][:200]) for each in found if each["impact"] in {"serious", "critical"}]
