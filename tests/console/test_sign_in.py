"""Signing in: at once without credentials; with a token that stays in the tab."""

from __future__ import annotations

import json

from playwright.sync_api import Page, expect

import threadkeep
from tests.support.servers.server_process import ServerProcess
from threadkeep import user

TOKEN = "open-sesame-0123456789"


def console(server: ServerProcess) -> str:
    return f"http://{server.http_address}/console/"


def sign_in(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()


def test_without_credentials_the_console_opens_at_once(page: Page, server: ServerProcess) -> None:
    page.goto(console(server))
    expect(page.get_by_role("heading", name="Sessions", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Sign out")).to_have_count(0)


def test_a_token_is_needed_refused_accepted_kept_and_forgotten(page: Page, guarded: ServerProcess) -> None:
    with threadkeep.Client(guarded.address, token=TOKEN, app="shop", user_id="alice") as client:
        client.append("secret", user("Only for those with a token."), create_if_missing=True)
    page.goto(f"{console(guarded)}session?app=shop&user=alice&id=secret")
    expect(page.get_by_text("needs a token")).to_be_visible()
    sign_in(page, "guess")
    expect(page.get_by_role("alert")).to_contain_text("refuses this token")
    sign_in(page, TOKEN)
    expect(page.get_by_text("Only for those with a token.")).to_be_visible()  # at the address that was opened

    page.reload()
    expect(page.get_by_text("Only for those with a token.")).to_be_visible()
    assert TOKEN not in json.dumps(page.evaluate("Object.assign({}, localStorage)"))
    assert page.context.cookies() == []
    assert TOKEN not in page.url
    other = page.context.new_page()
    other.goto(console(guarded))
    expect(other.get_by_label("Token")).to_be_visible()

    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    expect(page.get_by_text("Only for those with a token.")).to_have_count(0)
    assert page.evaluate("sessionStorage.length") == 0


def test_a_token_that_is_bound_to_a_user_sees_that_user(page: Page, guarded: ServerProcess) -> None:
    with threadkeep.Client(guarded.address, token=TOKEN, app="shop") as client:
        for name in ("alice", "bob"):
            ref = threadkeep.SessionRef(app="shop", user_id=name, session_id=f"of-{name}")
            client.append(ref, user("Hello"), create_if_missing=True)
    page.goto(console(guarded))
    sign_in(page, "only-alice-0123456789")
    expect(page.get_by_role("link", name="of-alice")).to_be_visible()
    expect(page.get_by_role("link", name="of-bob")).to_have_count(0)
    expect(page.get_by_role("checkbox")).to_have_count(0)  # a reader deletes nothing
    page.goto(f"{console(guarded)}access")
    expect(page.get_by_text("The server knows you by your token.")).to_be_visible()
    expect(page.locator(".who dd").nth(2)).to_have_text("alice")
    expect(page.get_by_role("row", name="reader")).to_contain_text("you have it")
    expect(page.get_by_role("row", name="admin")).to_contain_text("you do not have it")
    expect(page.get_by_text("The audit log is for the role admin.")).to_be_visible()
    expect(page.locator(".audit table")).to_have_count(0)
    page.goto(f"{console(guarded)}session?app=shop&user=bob&id=of-bob")
    expect(page.get_by_role("alert")).to_contain_text("PERMISSION_DENIED")


def test_an_admin_reads_the_audit_log_of_the_tenant(page: Page, guarded: ServerProcess) -> None:
    with threadkeep.Client(guarded.address, token="of-nobody-0123456789", app="shop", user_id="eve") as client:
        client.append("of-another-tenant", user("Hello"), create_if_missing=True)
    with threadkeep.Client(guarded.address, token=TOKEN, app="shop", user_id="alice") as client:
        client.append("audited", user("Hello"), create_if_missing=True)
        client.delete_session("audited")
    page.goto(f"{console(guarded)}access?session=audited")
    sign_in(page, TOKEN)
    rows = page.locator(".audit tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("DeleteSession")
    expect(rows.first).to_contain_text("shop · alice · audited")
    page.get_by_label("Method").fill("AppendEvents")
    expect(rows).to_have_count(1)
    assert "method=AppendEvents" in page.url
    page.get_by_label("Session", exact=True).fill("of-another-tenant")
    expect(page.get_by_text("The log has no such call.")).to_be_visible()
