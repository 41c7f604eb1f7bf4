"""What the server reports about itself, and which policy is in effect."""

from __future__ import annotations

from playwright.sync_api import Page, expect

import threadkeep
from tests.support.servers.server_process import ServerProcess
from threadkeep import user


def test_the_overview_says_what_the_server_has_and_lacks(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    client.append("counted", user("One of them."), create_if_missing=True)
    page.goto(f"http://{server.http_address}/console/overview")
    expect(page.locator(".numbers .value").first).to_have_text(str(client.info(totals=True).total_sessions))
    expect(page.get_by_text("No embedder is configured.")).to_be_visible()
    expect(page.get_by_text(client.info().engine, exact=True)).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="(answers)")).to_contain_text("serves")
    appends = page.locator(".charts li", has_text="Appends")
    expect(appends.get_by_role("img").first).to_be_visible()  # after two looks at the counters
    client.append("counted", user("Another one."))
    expect(appends).to_contain_text("half within")
    page.route("**/metrics", lambda route: route.fulfill(status=404))
    expect(page.get_by_text("the setting admin_address has moved them")).to_be_visible()


def test_a_server_without_an_audit_log_names_the_setting(page: Page, server: ServerProcess) -> None:
    page.goto(f"http://{server.http_address}/console/access")
    expect(page.get_by_text('audit_log = "/var/log/threadkeep/audit.log"')).to_be_visible()


def test_a_policy_is_shown_with_its_origin(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    client.append("governed", user("By whom?"), create_if_missing=True)
    page.goto(f"http://{server.http_address}/console/policies?app=shop&user=alice&id=governed")
    expect(page.get_by_text("No policy applies")).to_be_visible()
    compaction = threadkeep.compaction
    client.session("governed").policy().set(compaction.policy(compaction.tokens(123_456), compaction.turn_window(7)))
    page.reload()
    expect(page.get_by_text("It is set for: the session.")).to_be_visible()
    expect(page.get_by_text("123456")).to_be_visible()
