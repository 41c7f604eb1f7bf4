"""Tokens of an OIDC issuer on loopback: what is accepted, whose they are, keys that change, and how often these are fetched."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tests.support.servers.oidc_issuer import AUDIENCE, OidcIssuer, oidc_issuer
from threadkeep_server.domain.errors import Unauthenticated
from threadkeep_server.domain.model import Caller
from threadkeep_server.domain.roles import granted
from threadkeep_server.transport.auth import digest_of
from threadkeep_server.transport.identity import signing_keys
from threadkeep_server.transport.identity.jwt_tokens import Issuer, JwtTokens
from threadkeep_server.transport.identity.signing_keys import SigningKeys

ALICE = Caller("acme", "alice", granted(["admin"]))


class Clock:
    """The time of the cache of keys."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def issuer() -> Iterator[OidcIssuer]:
    with oidc_issuer() as opened:
        yield opened


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(signing_keys, "time", clock)
    return clock


def tokens_of(issuer: OidcIssuer, **settings: Any) -> JwtTokens:
    accepted = Issuer(
        issuer=issuer.url,
        audience=AUDIENCE,
        algorithms=("ES256",),
        leeway=30,
        tenant="",
        tenant_claim="tenant",
        user_claim="sub",
        app_claim="",
        roles_claim="roles",
        roles_prefix="threadkeep:",
    )
    return JwtTokens(replace(accepted, **settings), SigningKeys(issuer.url, ""))


async def caller(tokens: JwtTokens, token: str) -> Caller | None:
    return await tokens.caller(token, digest_of(token))


async def refused(tokens: JwtTokens, token: str) -> bool:
    try:
        await caller(tokens, token)
    except Unauthenticated:
        return True
    return False


async def test_a_token_of_the_issuer_is_its_tenants_and_users_with_its_roles(issuer: OidcIssuer, clock: Clock) -> None:
    tokens = tokens_of(issuer)
    assert await caller(tokens, issuer.token()) == ALICE
    roles = ["threadkeep:reader", "threadkeep:king", "admin"]
    assert await caller(tokens, issuer.token(roles=roles)) == replace(ALICE, roles=granted(["reader"]))
    assert await caller(tokens, issuer.token(roles=None)) == replace(ALICE, roles=granted([]))
    named = tokens_of(issuer, tenant="fixed", user_claim="", roles_claim="realm.scope")
    token = issuer.token(tenant=None, realm={"scope": "openid threadkeep:ops"})
    assert await caller(named, token) == Caller("fixed", None, granted(["ops"]))


async def test_a_claim_binds_the_caller_to_an_app(issuer: OidcIssuer, clock: Clock) -> None:
    tokens = tokens_of(issuer, app_claim="azp")
    assert await caller(tokens, issuer.token(azp="shop")) == replace(ALICE, app="shop")
    for claims in ({}, {"azp": ""}, {"azp": "a\x1fb"}, {"azp": ["shop"]}):
        assert await refused(tokens, issuer.token(**claims))


async def test_a_token_that_is_not_for_this_server_or_not_valid_is_refused(issuer: OidcIssuer, clock: Clock) -> None:
    tokens, now = tokens_of(issuer), int(time.time())
    assert await caller(tokens, issuer.token(exp=now - 5)) == ALICE  # within the leeway
    forged = ec.generate_private_key(ec.SECP256R1())
    for name, token in {
        "expired": issuer.token(exp=now - 60),
        "without an expiry": issuer.token(exp=None),
        "not valid yet": issuer.token(nbf=now + 60),
        "of another issuer": issuer.token(iss="https://issuer.example"),
        "for another audience": issuer.token(aud="another"),
        "without an audience": issuer.token(aud=None),
        "signed by another key": issuer.token(key=forged),
        "without a tenant": issuer.token(tenant=None),
        "with a tenant that is no name": issuer.token(tenant=["acme"]),
        "without a user": issuer.token(sub=None),
        "with an empty user": issuer.token(sub=""),
        "not signed": issuer.token(alg="none", key=""),
        "signed with what is public": jwt.encode({"sub": "alice"}, "k" * 32, "HS256", {"kid": issuer.key_id}),
        "with a header that is no JSON": "a.b.c",
        "with a changed body": changed(issuer.token(), sub="bob"),
        "without a key id": jwt.encode({"sub": "alice"}, forged, "ES256"),
        "with a deep header": base64.urlsafe_b64encode(b"[" * 9_000).decode() + ".b.c",
        "too long": issuer.token(padding="x" * 20_000),
    }.items():
        assert await refused(tokens, token), name
    assert issuer.fetched == 1


def changed(token: str, **claims: str) -> str:
    head, body, signature = token.split(".")
    value = json.loads(base64.urlsafe_b64decode(body + "==")) | claims
    return f"{head}.{base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip('=')}.{signature}"


async def test_a_token_of_another_form_is_left_to_other_sources(issuer: OidcIssuer) -> None:
    assert await caller(tokens_of(issuer), "tk_1_secret") is None


async def test_after_a_rotation_tokens_of_the_new_key_are_accepted_and_of_the_old_one_refused(
    issuer: OidcIssuer, clock: Clock
) -> None:
    tokens, old, unused = tokens_of(issuer), issuer.token(), issuer.token(jti="unused")
    assert await caller(tokens, old) == ALICE
    issuer.rotate()
    clock.now += 11
    assert await caller(tokens, issuer.token()) == ALICE
    assert issuer.fetched == 2
    clock.now += 11
    assert await refused(tokens, unused)


async def test_made_up_key_ids_cause_one_request_in_ten_seconds(issuer: OidcIssuer, clock: Clock) -> None:
    tokens = tokens_of(issuer)
    assert await caller(tokens, issuer.token()) == ALICE
    clock.now += 11
    for number in range(20):
        assert await refused(tokens, issuer.token(key_id=f"made-up-{number}"))
    assert issuer.fetched == 2
    assert await caller(tokens, issuer.token(jti="other")) == ALICE


async def test_old_keys_are_fetched_again_in_the_background_and_stay_while_that_fails(issuer: OidcIssuer, clock: Clock) -> None:
    keys = SigningKeys(issuer.url, f"{issuer.url}/keys")
    assert await keys.get(issuer.key_id) is not None
    issuer.down = True
    clock.now += 400
    assert await keys.get(issuer.key_id) is not None
    assert keys._refreshing is not None
    await keys._refreshing
    assert await keys.get(issuer.key_id) is not None
    issuer.down, before = False, issuer.key_id
    issuer.rotate()
    clock.now += 11
    assert await keys.get(before) is not None
    await keys._refreshing
    assert await keys.get(before) is None


async def test_a_verified_token_is_not_verified_again_until_it_expires(
    issuer: OidcIssuer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens, token = tokens_of(issuer), issuer.token(exp=int(time.time()) + 100)
    decoded = jwt.decode
    calls: list[str] = []

    def counted(given: str, *rest: Any, **options: Any) -> Any:
        calls.append(given)
        return decoded(given, *rest, **options)

    monkeypatch.setattr(jwt, "decode", counted)
    for _ in range(3):
        assert await caller(tokens, token) == ALICE
    assert len(calls) == 1
    later = time.time() + 200
    monkeypatch.setattr(time, "time", lambda: later)
    await caller(tokens, token)
    assert len(calls) == 2


async def test_the_cache_of_verified_tokens_is_bounded(
    issuer: OidcIssuer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threadkeep_server.transport.identity.jwt_tokens._MOST_CACHED", 2)
    tokens = tokens_of(issuer)
    for number in range(4):
        assert await caller(tokens, issuer.token(jti=str(number))) == ALICE
    assert len(tokens._verified) == 2
