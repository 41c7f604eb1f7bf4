"""Signing in at an OIDC issuer, with PKCE."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

import threadkeep
from tests.support.servers.oidc_issuer import AUDIENCE, OidcIssuer, oidc_issuer
from tests.support.servers.server_process import ServerProcess, fork_server, free_port
from threadkeep import user

from .browsers import PATIENCE


@pytest.fixture(scope="module")
def issuer() -> Iterator[OidcIssuer]:
    with oidc_issuer() as served:
        yield served


@pytest.fixture(scope="module")
def signing(issuer: OidcIssuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    settings = {"jwt_issuer": issuer.url, "jwt_audience": AUDIENCE, "console_oidc_client_id": "the-console"}
    address = f"127.0.0.1:{free_port()}"
    with ServerProcess(fork_server(), tmp_path_factory.mktemp("oidc"), http_address=address, **settings) as started:
        yield started.start()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    """A page that may call its issuer, and breaks no policy."""
    context = browser.new_context()
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    faults: list[str] = []
    opened.on("console", lambda said: faults.append(said.text) if "Content Security Policy" in said.text else None)
    yield opened
    context.close()
    assert not faults


def test_a_user_signs_in_at_the_issuer_and_returns_to_the_page(tab: Page, signing: ServerProcess, issuer: OidcIssuer) -> None:
    with threadkeep.Client(signing.address, token=issuer.token(), app="shop") as client:
        client.append("mine", user("For those who signed in."), create_if_missing=True)
    page = f"http://{signing.http_address}/console/session?app=shop&user=alice&id=mine"
    answered = tab.goto(page)
    assert answered is not None
    assert f"connect-src 'self' {issuer.url};" in answered.headers["content-security-policy"]

    issuer.refuses = True
    tab.get_by_role("button", name="Sign in at 127.0.0.1").click()
    expect(tab.get_by_role("alert")).to_contain_text("The issuer refused: not <b>today</b>")
    issuer.refuses = False
    tab.goto(page)
    issuer.claims = {"aud": "another-service"}
    tab.get_by_role("button", name="Sign in at 127.0.0.1").click()
    expect(tab.get_by_role("alert")).to_contain_text("their audience must be threadkeep")
    issuer.claims = {}
    tab.goto(page)
    tab.get_by_role("button", name="Sign in at 127.0.0.1").click()
    expect(tab.get_by_text("For those who signed in.")).to_be_visible()
    assert tab.url == page, "the code is gone from the address"
    assert tab.evaluate("localStorage.length") == 0
    assert list(json.loads(tab.evaluate("JSON.stringify(sessionStorage)"))) == ["threadkeep.token"]
    assert tab.context.cookies() == []


def test_a_code_that_this_tab_did_not_request_is_refused(tab: Page, signing: ServerProcess, issuer: OidcIssuer) -> None:
    tab.goto(f"http://{signing.http_address}/console/sign-in?code=of-an-attacker&state=guessed")
    expect(tab.get_by_role("alert")).to_contain_text("not begun in this tab")
    expect(tab.get_by_label("Token")).to_be_visible()
    tab.get_by_label("Token").fill(issuer.token())
    tab.get_by_role("button", name="Sign in", exact=True).click()
    expect(tab.get_by_role("heading", name="Sessions", exact=True)).to_be_visible()
