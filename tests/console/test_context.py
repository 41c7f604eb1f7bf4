"""What an agent sees, now and then, what a compaction would change, and what else a session has."""

from __future__ import annotations

from playwright.sync_api import Page, expect

import threadkeep
from tests.support.servers.server_process import ServerProcess
from threadkeep import assistant, user


def address(server: ServerProcess, page: str, session: str, more: str = "") -> str:
    return f"http://{server.http_address}/console/{page}?app=shop&user=alice&id={session}{more}"


def fill(client: threadkeep.Client, session: str, turns: int = 12) -> None:
    """Appends turns in appends of their own: a moment is one between appends."""
    for n in range(1, turns + 1):
        client.append(session, user(f"Question {n}"), create_if_missing=True)
        client.append(session, assistant(f"Answer {n}", author="planner"))


def test_the_context_is_that_of_the_limits_and_the_moment(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    fill(client, "context")
    page.goto(address(server, "session", "context"))
    page.get_by_role("link", name="Context").click()
    events = page.get_by_label("Events of the context").last.locator("[data-seq]")
    expect(page.get_by_text("24 events, 12 turns")).to_be_visible()

    page.get_by_label("Turns at most").fill("2")
    expect(page.get_by_text("4 events, 2 turns")).to_be_visible()
    assert "turns=2" in page.url
    expect(events).to_have_count(4)
    page.get_by_label("Without authors").fill("planner")
    page.get_by_label("Without authors").press("Enter")
    expect(page.get_by_text("2 events, 2 turns")).to_be_visible()

    page.get_by_role("button", name="Turn before").click()
    expect(page.locator(".slider b").first).to_have_text("#23")
    page.get_by_role("button", name="Turn before").click()
    expect(page.locator(".slider b").first).to_have_text("#21")
    expect(events.last).to_contain_text("Question 11")
    page.reload()
    expect(events.last).to_contain_text("Question 11")
    page.get_by_role("button", name="Turn after").click()
    expect(page.locator(".slider b").first).to_have_text("#23")
    page.get_by_role("button", name="Now", exact=True).click()
    expect(events.last).to_contain_text("Question 12")


def test_a_dry_run_shows_what_apply_does(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    fill(client, "compact")
    page.goto(address(server, "context", "compact"))
    page.get_by_label("Turns to keep").fill("3")
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_text("It would archive 18 events")).to_be_visible()
    assert client.get_session("compact").window.events == 24
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Archived 18 events.")).to_be_visible()
    expect(page.get_by_text("6 events, 3 turns")).to_be_visible()
    assert client.get_session("compact").window.events == 6

    page.get_by_role("link", name="Details").click()
    expect(page.get_by_role("row").filter(has_text="turn window")).to_contain_text("18 events archived")
    expect(page.get_by_label("Branches")).to_contain_text("24")
    expect(page.get_by_text("It is not a fork")).to_be_visible()


def test_a_reader_sees_the_context_and_nothing_to_compact_it_with(page: Page, guarded: ServerProcess) -> None:
    with threadkeep.Client(guarded.address, token="open-sesame-0123456789", app="shop", user_id="alice") as client:
        fill(client, "readers")
    page.goto(address(guarded, "context", "readers"))
    page.get_by_label("Token").fill("only-alice-0123456789")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("slider").first).to_be_visible()
    expect(page.locator(".results .event").first).to_be_visible()
    expect(page.get_by_role("button", name="Dry run")).to_have_count(0)
