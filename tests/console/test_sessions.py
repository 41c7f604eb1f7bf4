"""The list of sessions: filters, order, pages, live changes, what to do without any."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

from playwright.sync_api import Page, Route, expect

import threadkeep
from tests.support.servers.server_process import ServerProcess
from threadkeep import assistant, user


def test_the_list_shows_filters_and_follows(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    for number in range(3):
        client.append(
            f"order-{number}",
            user(f"Where is order {number}?"),
            assistant(f"Order {number} is on its way.", author="tracker"),
            create_if_missing=True,
        )
    page.goto(f"http://{server.http_address}/console/sessions?app=shop&user=alice&prefix=order-")
    rows = page.locator(".spread > [role=row]")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("order-2")
    expect(rows.nth(0)).to_contain_text("Order 2 is on its way.")

    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    client.append("order-0", user("Any news?"))
    expect(rows.nth(0)).to_contain_text("Any news?")
    expect(rows.nth(0).get_by_role("cell").nth(3)).to_have_text("3")
    client.append("order-9", user("A new one."), create_if_missing=True)
    expect(rows.nth(0)).to_contain_text("order-9")

    page.get_by_label("Id begins with").fill("order-1")
    expect(rows).to_have_count(1)
    assert re.search(r"prefix=order-1\b", page.url), "the address has the filter"
    page.get_by_label("Id begins with").fill("nothing-of-this-name")
    expect(page.get_by_text("No session matches")).to_be_visible()
    page.get_by_role("button", name="Clear").click()
    expect(rows.first).to_be_visible()


def test_selected_sessions_are_deleted_with_a_receipt(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    for number in range(5):
        client.append(f"bulk-{number}", user("Delete me."), create_if_missing=True)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"http://{server.http_address}/console/sessions?app=shop&user=alice&prefix=bulk-")
    for number in (0, 1):
        page.get_by_label(f"Select bulk-{number}").check()
    page.get_by_role("button", name="Delete…").click()
    dialog = page.get_by_role("dialog", name="Delete 2 sessions for good?")
    expect(dialog).to_contain_text("bulk-1")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    other = page.context.new_page()  # a colleague's, who reads one of them
    other.goto(f"http://{server.http_address}/console/session?app=shop&user=alice&id=bulk-0")
    expect(other.get_by_text("Live", exact=True)).to_be_visible()
    page.bring_to_front()
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("button", name="Delete 2 sessions").click()
    expect(page.get_by_text("2 sessions deleted, with 2 events.")).to_be_visible()
    other.bring_to_front()
    expect(other.get_by_text("This session was deleted.")).to_be_visible()
    other.goto(f"http://{server.http_address}/console/sessions?app=shop&user=alice&prefix=bulk-")
    expect(other.get_by_label("Select bulk-4")).to_be_visible()
    page.bring_to_front()
    page.get_by_role("button", name="Copy the receipt").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    receipt = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert sorted(each["sessionId"] for each in receipt["deleted"]) == ["bulk-0", "bulk-1"]
    page.get_by_role("button", name="Close").click()
    client.delete_session("bulk-4")
    expect(page.get_by_label("Select bulk-4")).to_have_count(0)
    other.bring_to_front()
    expect(other.get_by_label("Select bulk-3")).to_be_visible()
    expect(other.get_by_label("Select bulk-4")).to_have_count(0)
    other.close()
    client.append("bulk-4", user("Delete me."), create_if_missing=True)
    expect(page.get_by_label("Select bulk-4")).to_be_visible()
    for number in (2, 3):
        page.get_by_label(f"Select bulk-{number}").check()
    page.get_by_role("button", name="Delete…").click()
    client.delete_session("bulk-3")
    client.append("bulk-3", user("Another one."), create_if_missing=True)
    page.get_by_role("button", name="Delete 2 sessions").click()
    expect(page.get_by_text("1 session deleted, with 1 event. 1 did not exist any more.")).to_be_visible()
    assert client.get_session("bulk-3").last_seq == 1, "the one that was listed is gone; this one is another"


def test_sessions_that_could_not_be_deleted_are_tried_again_and_the_receipt_stays(
    page: Page, server: ServerProcess, client: threadkeep.Client
) -> None:
    for number in range(3):
        client.append(f"again-{number}", user("Delete me."), create_if_missing=True)
    page.goto(f"http://{server.http_address}/console/sessions?app=shop&user=alice&prefix=again-")
    expect(page.get_by_label("Select again-2")).to_be_visible()
    refused = {"code": "unavailable", "message": "not <b>now</b>"}
    calls = itertools.count()

    def refuse(route: Route) -> None:
        if next(calls) == 0:
            route.continue_()
        else:
            route.fulfill(status=503, json=refused)

    page.route("**/DeleteSession", refuse)
    page.get_by_role("button", name="Delete all that match…").click()
    page.get_by_role("button", name="Delete 3 sessions").click()
    expect(page.get_by_text("2 sessions could not be deleted:")).to_be_visible()
    expect(page.get_by_text("not <b>now</b>").first).to_be_visible()
    page.unroute("**/DeleteSession")
    page.get_by_role("button", name="Try these again").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("1 session deleted, with 1 event.")).to_be_visible()
    page.get_by_role("button", name="Try these again").click()
    page.get_by_role("button", name="Delete 2 sessions").click()
    expect(page.get_by_text("3 sessions deleted, with 3 events.")).to_be_visible()  # the first receipt is not lost
    expect(page.get_by_text("No session matches")).to_be_visible()


def test_filters_that_leave_out_nothing_offer_no_deletion_of_all(
    page: Page, server: ServerProcess, client: threadkeep.Client
) -> None:
    client.append("filtered", user("Keep me."), create_if_missing=True)
    everything = page.get_by_role("button", name="Delete all that match…")
    for query, count in (("prefix=filtered", 1), ("since=ever&label=,&prefix=&user=", 0)):
        page.goto(f"http://{server.http_address}/console/sessions?{query}")
        expect(page.get_by_label("Select filtered")).to_be_visible()
        expect(everything).to_have_count(count)


def test_an_id_is_opened_as_it_is(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    name = "../a/b?c=#d&e %2F 123"
    client.append(name, user("An id that no path could hold."), create_if_missing=True)
    client.append("123", user("An id of digits."), create_if_missing=True)
    page.goto(f"http://{server.http_address}/console/sessions?prefix=..")
    page.get_by_role("link", name=name).click()
    expect(page.get_by_text("An id that no path could hold.")).to_be_visible()
    page.reload()
    expect(page.get_by_text("An id that no path could hold.")).to_be_visible()
    page.goto(f"http://{server.http_address}/console/session?app=shop&user=alice&id=123")
    expect(page.get_by_text("An id of digits.")).to_be_visible()


def test_an_empty_server_names_the_command_for_the_first_event(page: Page, guarded: ServerProcess, tmp_path: Path) -> None:
    page.goto(f"http://{guarded.http_address}/console/")
    page.get_by_label("Token").fill("of-nobody-0123456789")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("threadkeep events append --create")).to_be_visible()
