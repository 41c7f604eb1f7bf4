"""The memories of a user: where they come from, edited and deleted."""

from __future__ import annotations

from playwright.sync_api import Page, expect

import threadkeep
from tests.support.servers.server_process import ServerProcess
from threadkeep import user


def test_memories_lead_to_their_events_and_are_edited_and_deleted(
    page: Page, server: ServerProcess, client: threadkeep.Client
) -> None:
    ref = threadkeep.SessionRef(app="shop", user_id="mnemosyne", session_id="origin")
    client.append(ref, user("Hello"), user("I sit at the <i>window</i>."), create_if_missing=True)
    memory = client.memory(user_id="mnemosyne")
    memory.add_session("origin")
    page.goto(f"http://{server.http_address}/console/memories?app=shop&user=mnemosyne")
    card = page.locator(".memory", has_text="I sit at the <i>window</i>.")
    card.get_by_role("link", name="event #2").click()
    expect(page.locator('[data-seq="2"]')).to_be_in_viewport()
    page.go_back()

    card.get_by_role("button", name="Edit").click()
    page.get_by_label("Text of the memory").fill("Sits at the aisle.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert [each.content.parts[0].text for each in memory.search("aisle").entries] == ["Sits at the aisle."]

    page.get_by_label("Query").fill("aisle")
    expect(page.locator(".memory")).to_have_count(1)
    expect(page.locator(".memory mark")).to_have_text("aisle")
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_role("status").filter(has_text="1 memory deleted")).to_be_visible()
    expect(page.get_by_text("No memory matches")).to_be_visible()
    assert [each.content.parts[0].text for each in memory.list()] == ["Hello"]


def test_an_edit_does_not_overwrite_what_changed_while_the_editor_was_open(
    page: Page, server: ServerProcess, client: threadkeep.Client
) -> None:
    ref = threadkeep.SessionRef(app="shop", user_id="editors", session_id="origin")
    client.append(ref, user("Sits anywhere."), create_if_missing=True)
    memory = client.memory(user_id="editors")
    memory.add_session("origin")
    page.goto(f"http://{server.http_address}/console/memories?app=shop&user=editors")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Text of the memory").fill("Sits at the aisle.")
    (entry,) = memory.list()
    entry.content.parts[0].text = "Sits at the window."
    memory.upsert(entry)
    with page.expect_response("**/ListMemories*"):  # as when the window is shown again
        page.evaluate("document.dispatchEvent(new Event('visibilitychange', {bubbles: true}))")
    page.wait_for_timeout(200)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Someone else has changed it meanwhile.")).to_be_visible()
    expect(page.get_by_text("Sits at the window.")).to_be_visible()
    assert [each.content.parts[0].text for each in memory.list()] == ["Sits at the window."]
    expect(page.get_by_label("Text of the memory")).to_have_value("Sits at the aisle.")
    page.get_by_role("button", name="Save mine instead").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert [each.content.parts[0].text for each in memory.list()] == ["Sits at the aisle."]
