"""The console behind a proxy, in several tabs, and with a token that expires."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import threadkeep
from tests.support.runs.thoroughness import LONG, size
from tests.support.servers.oidc_issuer import AUDIENCE, oidc_issuer
from tests.support.servers.prefix_proxy import prefix_proxy
from tests.support.servers.server_process import ServerProcess, fork_server, free_port
from threadkeep import user

from .browsers import PATIENCE

BACKGROUND = """
    let isHidden = true;
    Object.defineProperty(document, "hidden", {get: () => isHidden});
    window.setHidden = (next) => { isHidden = next; document.dispatchEvent(new Event("visibilitychange")); };
"""
"""A script that puts a tab into the background: the browsers of tests report every tab as shown."""
VALID_S = size(25, 8)
"""Seconds for which a token is valid: enough to sign in on a loaded machine. Firefox is typed to, letter by letter."""
CONNECTIONS = 6
"""Connections of a browser to a server with HTTP/1.1."""


def test_it_works_below_a_path_of_a_proxy(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    client.append("proxied", user("Seen through a proxy."), create_if_missing=True)
    with prefix_proxy(server.http_address, "/tools/memory") as url:
        page.goto(f"{url}/console")
        page.get_by_label("Id begins with").fill("proxied")
        expect(page).to_have_url(re.compile("prefix=proxied"))
        page.get_by_role("link", name="proxied").click()
        expect(page.get_by_text("Seen through a proxy.")).to_be_visible()
        assert page.url.startswith(f"{url}/console/session?"), page.url
        page.reload()
        expect(page.locator(".live")).to_have_text("Live")
        client.append("proxied", user("While it is open."))
        expect(page.get_by_text("While it is open.")).to_be_visible()
        page.get_by_role("button", name="Raw and copy, event 1").click()
        page.get_by_role("dialog").get_by_text("curl", exact=True).click()
        expect(page.get_by_role("dialog")).to_contain_text(f"{url}/threadkeep.v1.EventService/GetEvent")
        page.close()


def test_two_tabs_show_the_same(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    client.append("shared", *[user(f"Turn {number}") for number in range(1, 9)], create_if_missing=True)
    query = "app=shop&user=alice&id=shared"
    page.goto(f"http://{server.http_address}/console/session?{query}")
    expect(page.get_by_text("Turn 8", exact=True)).to_be_visible()
    other = page.context.new_page()
    other.goto(f"http://{server.http_address}/console/context?{query}")
    other.get_by_label("Turns to keep").fill("3")
    other.get_by_role("button", name="Dry run").click()
    other.get_by_role("button", name="Apply").click()
    expect(page.locator(".fold")).to_contain_text("5 events archived")
    other.goto(f"http://{server.http_address}/console/sessions?prefix=shared")
    expect(other.get_by_role("status").filter(has_text="Live")).to_be_visible()
    client.append("shared", user("Turn 9"))
    expect(page.get_by_text("Turn 9", exact=True)).to_be_visible()
    expect(other.locator(".spread > [role=row]")).to_contain_text("Turn 9")
    client.delete_session("shared")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(other.locator(".spread > [role=row]")).to_have_count(0)


@pytest.mark.skipif(not LONG, reason="it opens more tabs than a browser has connections")
def test_tabs_in_the_background_leave_connections_to_others(
    page: Page, server: ServerProcess, client: threadkeep.Client
) -> None:
    client.append("tabs", user("Before"), create_if_missing=True)
    address = f"http://{server.http_address}/console/session?app=shop&user=alice&id=tabs"
    page.context.add_init_script(BACKGROUND)
    tabs = [page.context.new_page() for _ in range(CONNECTIONS + 2)]
    for tab in tabs:
        tab.goto(address)
        expect(tab.get_by_text("Before")).to_be_visible()
    client.append("tabs", user("Meanwhile"))
    for tab in tabs[:2]:
        expect(tab.get_by_text("Meanwhile")).to_have_count(0)
        tab.evaluate("setHidden(false)")
        expect(tab.get_by_text("Meanwhile")).to_be_visible()
    tabs[0].evaluate("setHidden(true)")
    tabs[0].wait_for_timeout(6_000)
    client.append("tabs", user("Later"))
    expect(tabs[1].get_by_text("Later")).to_be_visible()
    expect(tabs[0].get_by_text("Later")).to_have_count(0)
    tabs[0].evaluate("setHidden(false)")
    expect(tabs[0].get_by_text("Later")).to_be_visible()
    assert tabs[0].locator("[data-seq]").count() == 3


def test_a_token_that_expires_is_asked_for_again(page: Page, tmp_path: Path) -> None:
    with oidc_issuer() as issuer:
        settings = {"jwt_issuer": issuer.url, "jwt_audience": AUDIENCE, "jwt_algorithms": "ES256", "jwt_leeway": "0s"}
        with ServerProcess(fork_server(), tmp_path, http_address=f"127.0.0.1:{free_port()}", **settings) as server:
            server.start()
            writer = issuer.token()
            with threadkeep.Client(server.address, token=writer, app="shop", user_id="alice") as client:
                client.append("brief", user("Before it expired."), create_if_missing=True)
                page.goto(f"http://{server.http_address}/console/session?app=shop&user=alice&id=brief")
                page.get_by_label("Token").fill(issuer.token(exp=int(time.time()) + VALID_S))
                page.get_by_role("button", name="Sign in").click()
                expect(page.get_by_text("Before it expired.")).to_be_visible()
                expect(page.get_by_role("alert")).to_contain_text("refuses this token", timeout=2 * PATIENCE)
                client.append("brief", user("After that."))
                page.get_by_label("Token").fill(writer)
                page.get_by_role("button", name="Sign in").click()
                expect(page.get_by_text("After that.")).to_be_visible()
