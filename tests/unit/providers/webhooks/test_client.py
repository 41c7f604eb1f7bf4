"""The client of webhooks: signatures, retries and limits against an endpoint on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.support.models.model_endpoint import ModelEndpoint, endpoint, hangs, replies
from tests.support.models.webhooks import SECRET, is_signed
from threadkeep_server.providers.errors import ProviderError
from threadkeep_server.providers.webhooks.client import WebhookClient
from threadkeep_server.providers.webhooks.options import WebhookEndpoint, WebhookOptions
from threadkeep_server.providers.webhooks.signature import secret_of, signed
from threadkeep_server.telemetry import spans
from threadkeep_server.telemetry.otlp.tracing import PassedOn
from threadkeep_server.telemetry.traceparent import TraceParent

BODY = b'{"a": 1}'


@pytest.fixture
async def hook() -> AsyncIterator[ModelEndpoint]:
    async with endpoint("webhook") as running:
        yield running


@asynccontextmanager
async def opened(
    hook: ModelEndpoint, *tenants: str, now: list[float] | None = None, **options: Any
) -> AsyncIterator[WebhookClient]:
    times = iter(now or [1000.0] * 10)
    endpoints = {"h": WebhookEndpoint(url=f"{hook.url}/plan?x=1", secret=SECRET, tenants=frozenset(tenants))}
    wanted = WebhookOptions(**{"backoff": 0.01} | options)
    client = WebhookClient(endpoints, wanted, wall_clock=lambda: next(times))
    try:
        yield client
    finally:
        await client.aclose()


def test_the_signature_is_that_of_standard_webhooks() -> None:
    """The example of its specification."""
    secret = secret_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = signed(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b'{"test": 2432232314}')
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


@pytest.mark.parametrize("text", ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_QQ==", "whsec_?", "whsec_é"])
def test_a_secret_of_another_form_is_rejected_without_its_text(text: str) -> None:
    with pytest.raises(ValueError, match="must be whsec_ and the base64 of 24 to 64 random bytes"):
        secret_of(text)


async def test_a_request_is_signed_and_retried_with_a_new_time(hook: ModelEndpoint) -> None:
    hook.does(replies({}, status=503), replies({"ok": True}))
    async with opened(hook, now=[1000.9, 1001.9]) as client:
        assert await client.post("h", "id-1", BODY) == b'{"ok": true}'
    assert [request.headers["webhook-timestamp"] for request in hook.requests] == ["1000", "1001"]
    for request in hook.requests:
        assert is_signed(request)
        assert (request.path, request.body) == ("/plan?x=1", BODY)
        assert (request.headers["webhook-id"], request.headers["content-type"]) == ("id-1", "application/json")


@pytest.mark.parametrize(("status", "attempts"), [(500, 3), (429, 3), (408, 3), (400, 1), (401, 1), (404, 1), (302, 1)])
async def test_only_failures_that_may_pass_are_repeated(hook: ModelEndpoint, status: int, attempts: int) -> None:
    hook.does(replies({}, status=status, headers={"location": f"{hook.url}/elsewhere"}))
    async with opened(hook) as client:
        with pytest.raises(ProviderError, match=str(status)):
            await client.post("h", "id-1", BODY)
    assert [request.path for request in hook.requests] == ["/plan?x=1"] * attempts


async def test_a_slow_webhook_times_out_and_the_deadline_bounds_all_attempts(hook: ModelEndpoint) -> None:
    hook.does(hangs)
    async with opened(hook, timeout=0.2, deadline=0.5, max_attempts=10) as client, asyncio.timeout(30):
        with pytest.raises(ProviderError, match="timed out"):
            await client.post("h", "id-1", BODY)
    assert 2 <= len(hook.requests) <= 4


async def test_a_long_answer_is_not_read_to_its_end(hook: ModelEndpoint) -> None:
    hook.does(replies("x" * 2000))
    async with opened(hook, max_answer_bytes=1000) as client:
        with pytest.raises(ProviderError, match="too long"):
            await client.post("h", "id-1", BODY)


async def test_a_webhook_is_for_its_tenants_only(hook: ModelEndpoint) -> None:
    async with opened(hook, "acme") as client:
        assert client.allows("h", "acme")
        assert not client.allows("h", "other")
        assert client.allows("h", None)
        assert not client.allows("other", "acme")
    async with opened(hook) as client:
        assert client.allows("h", "other")


def test_neither_address_nor_secret_is_printed() -> None:
    shown = repr(WebhookEndpoint(url="https://host/secret-path", secret=SECRET))
    assert "secret-path" not in shown
    assert str(SECRET) not in shown


async def test_a_request_has_the_trace_of_its_caller(hook: ModelEndpoint) -> None:
    hook.does(replies({}), replies({}))
    parent = TraceParent(0xA1, 0xB2, sampled=True)
    async with opened(hook) as client:
        await client.post("h", "id-1", BODY)
        token = spans.enter(PassedOn(parent, "vendor=1"))
        await client.post("h", "id-2", BODY)
        spans.leave(token)
    sent = [(request.headers.get("traceparent"), request.headers.get("tracestate")) for request in hook.requests]
    assert sent == [(None, None), (f"00-{0xA1:032x}-{0xB2:016x}-01", "vendor=1")]
