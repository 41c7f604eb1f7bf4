"""One session: its timeline, tool calls, live tail, places of the reader, hostile content."""

from __future__ import annotations

from playwright.sync_api import Page, Route, expect

import threadkeep
from tests.support.servers.server_process import ServerProcess
from threadkeep import assistant, tool_call, tool_error, tool_result, user


def address(server: ServerProcess, session: str, more: str = "") -> str:
    return f"http://{server.http_address}/console/session?app=shop&user=alice&id={session}{more}"


def test_a_timeline_renders_messages_and_ties_tool_calls(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    client.append(
        "trip",
        user("Two of us want to see **Lisbon**."),
        assistant("", tool_calls=[tool_call("c1", "flights", {"to": "LIS"}), tool_call("c2", "pay", {})], author="planner"),
        tool_result("c1", {"flight": "TP531"}, name="flights"),
        tool_error("c2", "The card was refused.", name="pay"),
        create_if_missing=True,
    )
    page.goto(address(server, "trip"))
    expect(page.locator("strong", has_text="Lisbon")).to_be_visible()
    call = page.locator('[data-seq="2"]')
    expect(call).to_contain_text("planner")
    expect(call).to_contain_text("answered")
    expect(call).to_contain_text("failed")
    expect(call.get_by_role("button", name="#4")).to_be_visible()
    expect(page.locator('[data-seq="3"]')).to_contain_text("TP531")
    expect(page.locator('[data-seq="4"]')).to_contain_text("The card was refused.")


def test_a_tail_misses_and_doubles_nothing_through_a_kill(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    client.append("tail", *[user(f"Before {number}") for number in range(1, 4)], create_if_missing=True)
    page.goto(address(server, "tail"))
    live = page.locator(".live")
    expect(live).to_have_text("Live")
    page.evaluate("window.untouched = true")
    client.append("tail", user("While it is open"))
    expect(page.get_by_text("While it is open")).to_be_visible()
    server.kill()
    server.start()
    client.append("tail", user("After the kill"), assistant("Here again."))
    expect(page.get_by_text("Here again.")).to_be_visible()
    expect(live).to_have_text("Live")
    seqs = [event.get_attribute("data-seq") for event in page.locator("[data-seq]").all()]
    assert seqs == [str(seq) for seq in range(1, 7)]
    assert page.evaluate("window.untouched"), "the page was reloaded"


def test_following_stays_at_the_end_and_never_moves_a_reader(
    page: Page, server: ServerProcess, client: threadkeep.Client
) -> None:
    client.append("long", *[user(f"Line {number}") for number in range(1, 401)], create_if_missing=True)
    page.goto(address(server, "long"))
    follow = page.get_by_role("switch", name="Follow")
    expect(page.get_by_text("Line 400", exact=True)).to_be_in_viewport()
    expect(follow).to_be_checked()
    client.append("long", user("Line 401"))
    expect(page.get_by_text("Line 401", exact=True)).to_be_in_viewport()

    page.goto(address(server, "long", "&seq=120"))
    expect(page.get_by_text("Line 120", exact=True)).to_be_in_viewport()
    expect(follow).not_to_be_checked()
    place = page.locator('[data-seq="120"]').bounding_box()
    expect(page.locator(".live")).to_have_text("Live")
    client.append("long", *[user(f"Line {number}") for number in range(402, 405)])
    page.get_by_role("button", name="3 new events").wait_for()
    assert page.locator('[data-seq="120"]').bounding_box() == place
    page.get_by_role("button", name="3 new events").click()
    expect(page.get_by_text("Line 404", exact=True)).to_be_in_viewport()
    expect(follow).to_be_checked()

    page.get_by_label("Go to seq").fill("7")
    page.get_by_label("Go to seq").press("Enter")
    expect(page.get_by_text("Line 7", exact=True)).to_be_in_viewport()
    assert "seq=7" in page.url
    assert page.locator("[data-seq]").count() < 60, "only visible events exist"


def test_events_are_read_before_the_session_is_known_and_none_is_missing(
    page: Page, server: ServerProcess, client: threadkeep.Client
) -> None:
    client.append("early", *[user(f"Line {number}") for number in range(1, 131)], create_if_missing=True)
    held: list[Route] = []
    page.route("**/*.SessionService/GetSession", lambda route: held.append(route))
    with page.expect_response("**/*.EventService/ListEvents"):
        page.goto(address(server, "early"))
    client.append("early", user("Line 131"))  # after its page was read, and before the session names it
    for each in held:
        each.continue_()
    expect(page.get_by_text("Line 130", exact=True)).to_be_in_viewport()
    expect(page.get_by_text("Line 131", exact=True)).to_be_in_viewport()


def test_a_session_that_does_not_exist_shows_the_reason_and_what_to_do(page: Page, server: ServerProcess) -> None:
    page.goto(address(server, "nowhere"))
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("SESSION_NOT_FOUND")
    expect(alert).to_contain_text("Check app, user and id.")


def test_a_compaction_is_a_fold_that_opens_in_place(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    client.append("folded", *[user(f"Turn {number}") for number in range(1, 41)], create_if_missing=True)
    client.compact("folded", threadkeep.compaction.turn_window(5))
    page.goto(address(server, "folded"))
    fold = page.locator(".fold")
    expect(fold).to_contain_text("35 events archived")
    assert page.locator('[data-seq="20"]').count() == 0
    fold.get_by_role("button").click()
    expect(page.get_by_text("Turn 1", exact=True)).to_be_visible()
    fold.get_by_role("button", name="Hide").click()
    page.get_by_label("Go to seq").fill("20")
    page.get_by_label("Go to seq").press("Enter")
    expect(page.get_by_text("Turn 20", exact=True)).to_be_in_viewport()


def test_an_event_is_shown_raw_and_in_other_forms(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    call = tool_call("c1", "find", {"order": 7})
    client.append("raw", user("Where is it?"), assistant("I look.", tool_calls=[call]), create_if_missing=True)
    page.goto(address(server, "raw"))
    page.get_by_role("button", name="Raw and copy, event 2").click()
    dialog = page.get_by_role("dialog", name="Event #2")
    expect(dialog).to_contain_text('"eventId"')
    for form, words in {
        "OpenAI": '"tool_calls"',
        "Anthropic": '"tool_use"',
        "Gemini": '"functionCall"',
        "curl": "GetEvent",
        "Python": "get_event",
    }.items():
        dialog.get_by_text(form, exact=True).click()
        expect(dialog.locator("pre")).to_contain_text(words)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_words_lead_to_their_events_and_branches_are_lanes(
    page: Page, server: ServerProcess, client: threadkeep.Client
) -> None:
    client.append("find", *[user(f"Line {number}") for number in range(1, 151)], user("A needle."), create_if_missing=True)
    client.append("find", *[user(f"Line {number}") for number in range(152, 300)], user("Another needle."))
    client.append("find", assistant("Aside.", author="writer", branch="planner.writer"))
    page.goto(address(server, "find"))
    expect(page.locator('[data-seq="301"].lane')).to_contain_text("planner.writer")
    page.get_by_label("Find").fill("needle")
    page.get_by_label("Find").press("Enter")
    expect(page.get_by_text("1 of 2")).to_be_visible()
    expect(page.get_by_text("A needle.", exact=True)).to_be_in_viewport()
    page.get_by_role("button", name="Next hit").click()
    expect(page.get_by_text("Another needle.", exact=True)).to_be_in_viewport()
    page.get_by_label("Find").fill("no such words")
    page.get_by_label("Find").press("Enter")
    expect(page.get_by_text("nothing found")).to_be_visible()
