"""The details of a session: the history of its state, its branches and its forks; media that are elsewhere."""

from __future__ import annotations

from playwright.sync_api import Page, expect

import threadkeep
from tests.support.servers.server_process import ServerProcess
from threadkeep import assistant, media, user


def test_the_state_has_a_history_and_forks_and_branches_are_drawn(
    page: Page, server: ServerProcess, client: threadkeep.Client
) -> None:
    client.append("root", user("To Rome."), state={"set": {"city": "Rome", "seats": 2}}, create_if_missing=True)
    client.append(
        "root", assistant("Or Oslo?", author="planner", branch="team.planner"), state={"set": {"city": "<b>Oslo</b>"}}
    )
    client.session("root").fork("twig", at_seq=1)
    client.session("twig").fork("leaf")
    client.session("root").state().patch(remove=["seats"])
    page.goto(f"http://{server.http_address}/console/details?app=shop&user=alice&id=root")
    rows = page.locator(".state-history tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.nth(0)).to_contain_text("seats2 → not set")
    expect(rows.nth(1)).to_contain_text('#2city"Rome" → "<b>Oslo</b>"')
    expect(rows.nth(3)).to_contain_text("not set →")
    client.append("root", user("Rome after all."), state={"set": {"city": "Rome"}})  # while the page is open
    expect(rows.nth(0)).to_contain_text('"<b>Oslo</b>" → "Rome"')
    page.get_by_label("Key").select_option("city")
    expect(rows).to_have_count(3)

    branches = page.get_by_role("list", name="Branches").get_by_role("listitem")
    expect(branches).to_have_text(["root1 event, #1", "team", "planner1 event, #2"])
    page.get_by_role("list", name="Forks").get_by_role("link", name="leaf").click()
    expect(page.get_by_text("To Rome.")).to_be_visible()
    page.get_by_role("link", name="Details").click()
    forks = page.get_by_role("list", name="Forks").get_by_role("listitem")
    expect(forks).to_have_count(3)
    expect(forks.nth(2)).to_contain_text("leaf")
    client.session("leaf").delete()  # while its details are shown
    expect(page.get_by_text("This session was deleted.")).to_be_visible()
    client.session("root").delete()
    page.goto(f"http://{server.http_address}/console/details?app=shop&user=alice&id=twig")
    expect(forks.nth(0)).to_contain_text("does not exist any more")


def test_media_elsewhere_are_opened_by_a_click_that_names_their_host(
    page: Page, server: ServerProcess, client: threadkeep.Client
) -> None:
    client.append(
        "elsewhere",
        user([media("image/png", uri="https://media.example.invalid/a.png"), media("image/png", uri="javascript:alert(1)")]),
        user([media("image/png", uri="http:relative.example.invalid")]),  # relative to a page of http, if it is used as written
        create_if_missing=True,
    )
    page.goto(f"http://{server.http_address}/console/session?app=shop&user=alice&id=elsewhere")
    link = page.get_by_role("link", name="Open at media.example.invalid")
    expect(link).to_have_attribute("rel", "noreferrer noopener")
    expect(page.get_by_text("not one of the web")).to_be_visible()
    assert page.locator(".media a").count() == 2
    written = page.get_by_role("link", name="Open at relative.example.invalid")
    assert written.evaluate("link => link.href") == "http://relative.example.invalid/"
