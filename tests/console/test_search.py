"""Searches in every mode side by side."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

import threadkeep
from tests.support.servers.server_process import ServerProcess
from threadkeep import assistant, user


def test_a_query_shows_its_hits_by_mode_with_their_places(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    client.append(
        "quarry",
        user("Does the zeppelin to Friedrichshafen fly?"),
        assistant("The zeppelins fly on Monday. <b>Zeppelin</b> 🎈 tours are sold out.", author="planner"),
        create_if_missing=True,
    )
    page.goto(f"http://{server.http_address}/console/search")
    expect(page.get_by_text("What are you looking for?")).to_be_visible()
    page.get_by_label("App").fill("shop")
    page.get_by_label("Query").fill("zeppelin")
    literal, ranked = page.get_by_role("region", name="Literal"), page.get_by_role("region", name="Ranked")
    expect(literal.get_by_role("listitem").filter(has_text="quarry")).to_have_count(2)
    expect(literal.locator("mark").last).to_have_text("Zeppelin")  # offsets count code points
    expect(ranked.locator("mark").first).to_be_visible()
    expect(ranked.get_by_text("Literal #1")).to_be_visible()
    expect(page.get_by_role("region", name="Semantic")).to_contain_text("no embedder")
    assert page.locator(".excerpt b").count() == 0
    page.get_by_text("Ranked", exact=True).first.click()
    expect(literal).to_have_count(0)
    ranked.get_by_role("link", name="quarry #2").click()
    expect(page.locator('[data-seq="2"]')).to_be_in_viewport()


@pytest.mark.parametrize("written_first", [True, False])
def test_a_default_that_arrives_late_does_not_mix_with_what_is_written(
    page: Page, server: ServerProcess, client: threadkeep.Client, written_first: bool
) -> None:
    client.append("quarry", user("The zeppelins fly on Monday."), create_if_missing=True)
    held: list[Route] = []
    page.route("**/*.SessionService/ListSessions", lambda route: held.append(route))
    page.goto(f"http://{server.http_address}/console/search")
    app = page.get_by_label("App")
    app.focus()
    if written_first:
        app.press_sequentially("zoo")
    while not held:
        page.wait_for_timeout(10)
    with page.expect_response("**/*.SessionService/ListSessions") as answered:
        held.pop(0).continue_()
    answered.value.finished()
    page.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
    if not written_first:
        app.press_sequentially("zoo")
    expect(app).to_have_value("zoo")
    expect(page).to_have_url(re.compile("app=zoo"))
