"""Failures of model requests, the same for every adapter, in both forms, whole and streamed."""

from __future__ import annotations

import asyncio
import socket
import time
import traceback
from collections.abc import AsyncIterator
from email.utils import formatdate
from typing import Any

import pytest

from threadkeep.chat import ChatError, ChatOptions, ModelFailed, ModelTimeout, Prompt

from ...support.models.model_endpoint import hangs
from ..async_and_sync import Kit, Way
from ..fakes.loopback import KEY, Loopback, cut_short, drips, events, loopback, refuses, replies
from ..fakes.models import HELLO, answer_of, merged
from ..fakes.vendors import VENDORS, Vendor

MOST_WAITED = 20.0
"""Upper limit in seconds, on a busy machine, for what should be immediate; far below the time of a failure."""
MOST_IDLE = 5.0
"""Seconds after which the clients close an idle connection; a busy machine may pause for longer."""
QUICK = Prompt(HELLO.messages, ChatOptions(timeout=0.2))


@pytest.fixture(params=VENDORS, ids=lambda vendor: vendor.name)
def vendor(request: pytest.FixtureRequest) -> Vendor:
    found: Vendor = request.param
    return found


@pytest.fixture
async def endpoint(vendor: Vendor) -> AsyncIterator[Loopback]:
    async with loopback(vendor.name) as model:
        yield model


@pytest.fixture
async def model(endpoint: Loopback, kit: Kit, vendor: Vendor) -> AsyncIterator[Any]:
    opened = vendor.model(kit, endpoint)
    yield opened
    await kit.of(opened.close)


def answer_saying(vendor: Vendor, way: Way, text: str = "Hello") -> Any:
    return events(vendor.events(text), done=vendor.done) if way.streams else replies(vendor.whole(text))


async def failure_of(way: Way, model: Any, prompt: Prompt = HELLO) -> ModelFailed:
    with pytest.raises(ModelFailed) as raised:
        await answer_of(way, model, prompt)
    return raised.value


async def hung_up(endpoint: Loopback) -> None:
    """Waits until the client of a request has disconnected. A busy machine may not have sent the request in time."""
    if endpoint.requests:
        await asyncio.wait_for(endpoint.gone.wait(), MOST_WAITED)


async def test_bad_request_error_quotes_the_provider(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(refuses(400, "this model's context length is 8192 tokens"))
    failed = await failure_of(way, model)
    assert (failed.status, failed.retry, failed.retry_after) == (400, False, None)
    assert "context length is 8192" in str(failed)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 500])
async def test_failure_never_contains_the_key(endpoint: Loopback, kit: Kit, vendor: Vendor, way: Way, status: int) -> None:
    model = vendor.model(kit, endpoint, max_retries=0)
    endpoint.does(
        refuses(status, f"incorrect API key provided: {KEY}, or {KEY[:6]}***{KEY[-4:]}" if status in (401, 403) else KEY)
    )
    failed = await failure_of(way, model)
    assert failed.status == status
    assert KEY[:6] not in repr(failed)
    # The cause and its frames would contain the request.
    assert (failed.__cause__, failed.__context__) == (None, None)
    assert not any("site-packages" in frame.filename for frame in traceback.extract_tb(failed.__traceback__))
    await kit.of(model.close)


async def test_too_many_requests_error_has_retry_after(endpoint: Loopback, kit: Kit, vendor: Vendor, way: Way) -> None:
    model = vendor.model(kit, endpoint, max_retries=0)
    endpoint.does(refuses(429, "slow down", headers={"retry-after": "7"}))
    failed = await failure_of(way, model)
    assert (failed.status, failed.retry, failed.retry_after) == (429, True, 7.0)
    endpoint.does(refuses(429, "slow down", headers={"retry-after": formatdate(time.time() + 600, usegmt=True)}))
    assert (await failure_of(way, model)).retry_after == pytest.approx(600, abs=60)
    await kit.of(model.close)


async def test_retry_waits_as_long_as_the_endpoint_requests(endpoint: Loopback, model: Any, vendor: Vendor, way: Way) -> None:
    endpoint.does(refuses(429, headers={"retry-after-ms": "150"}), answer_saying(vendor, way))  # longer than BACKOFF
    begun = time.monotonic()
    assert merged(await answer_of(way, model, HELLO)).text == "Hello"
    assert time.monotonic() - begun >= 0.15


async def test_retry_after_beyond_timeout_fails_without_waiting(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(refuses(429, headers={"retry-after": "50"}))
    begun = time.monotonic()
    assert (await failure_of(way, model, Prompt(HELLO.messages, ChatOptions(timeout=20)))).status == 429
    assert time.monotonic() - begun < MOST_WAITED
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [409, 500])
async def test_transient_failure_is_retried(endpoint: Loopback, model: Any, vendor: Vendor, way: Way, status: int) -> None:
    endpoint.does(refuses(status), answer_saying(vendor, way))
    assert merged(await answer_of(way, model, HELLO)).text == "Hello"
    assert len(endpoint.requests) == 2


async def test_failure_after_last_retry_is_raised(endpoint: Loopback, kit: Kit, vendor: Vendor, way: Way) -> None:
    model = vendor.model(kit, endpoint, max_retries=1)
    endpoint.does(refuses(500, "at a loss"))
    failed = await failure_of(way, model)
    assert (failed.status, failed.retry, len(endpoint.requests)) == (500, True, 2)
    await kit.of(model.close)


async def test_failure_marked_as_not_retryable_is_not_retried(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(refuses(429, "spent", headers={"x-should-retry": "false"}))
    assert not (await failure_of(way, model)).retry
    assert len(endpoint.requests) == 1


async def test_silent_endpoint_raises_model_timeout(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(hangs)
    begun = time.monotonic()
    failed = await failure_of(way, model, QUICK)
    assert isinstance(failed, ModelTimeout)
    assert 0.2 <= time.monotonic() - begun < MOST_WAITED
    await hung_up(endpoint)


async def test_stream_that_stalls_raises_model_timeout(endpoint: Loopback, model: Any, kit: Kit, vendor: Vendor) -> None:
    endpoint.does(events(vendor.events("Hello")[:-1], done=False, then="hang"))
    begun = time.monotonic()
    with pytest.raises(ModelTimeout):
        await kit.all(model.stream(QUICK))
    assert 0.2 <= time.monotonic() - begun < MOST_WAITED
    await hung_up(endpoint)


async def test_slow_byte_by_byte_answer_raises_model_timeout(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(drips(b" " * 1000))
    begun = time.monotonic()
    assert isinstance(await failure_of(way, model, QUICK), ModelTimeout)
    assert 0.2 <= time.monotonic() - begun < MOST_WAITED


async def test_truncated_answer_is_retried(endpoint: Loopback, model: Any, kit: Kit, vendor: Vendor) -> None:
    endpoint.does(cut_short(vendor.whole("Hello")), replies(vendor.whole("Hello")))
    assert (await kit.of(model.call, HELLO)).text == "Hello"
    assert len(endpoint.requests) == 2


async def test_truncated_answer_without_retries_fails(endpoint: Loopback, kit: Kit, vendor: Vendor) -> None:
    model = vendor.model(kit, endpoint, max_retries=0)
    endpoint.does(cut_short(vendor.whole("Hello")))
    with pytest.raises(ModelFailed, match="broke off") as raised:
        await kit.of(model.call, HELLO)
    assert (raised.value.status, raised.value.retry) == (0, True)
    await kit.of(model.close)


@pytest.mark.parametrize("then", ["cut", "end"])
async def test_broken_stream_fails_after_delivered_chunks(
    endpoint: Loopback, model: Any, kit: Kit, vendor: Vendor, then: str
) -> None:
    endpoint.does(events(vendor.events("Hello")[:-1], done=False, then=then))
    came: list[str] = []
    stream = model.stream(HELLO)

    async def read() -> None:
        while True:
            came.append((await anext(stream) if kit.is_async else await asyncio.to_thread(next, stream)).text)

    with pytest.raises(ModelFailed, match="broke off") as raised:
        await read()
    assert raised.value.retry
    assert "".join(came) == "Hello"
    assert len(endpoint.requests) == 1  # delivered chunks cannot be taken back


async def test_stream_broken_before_its_first_chunk_is_retried(
    endpoint: Loopback, model: Any, kit: Kit, vendor: Vendor
) -> None:
    endpoint.does(events([], done=False, then="cut"), events(vendor.events("Hello"), done=vendor.done))
    assert merged(await kit.all(model.stream(HELLO))).text == "Hello"
    assert len(endpoint.requests) == 2


async def test_unreachable_endpoint_raises_retryable_failure(kit: Kit, vendor: Vendor, way: Way) -> None:
    endpoint = Loopback(vendor.name)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # and does not listen; a port that is free could go to another process
        endpoint.port = held.getsockname()[1]
        model = vendor.model(kit, endpoint, max_retries=0)
        failed = await failure_of(way, model)
    assert (failed.status, failed.retry) == (0, True)
    assert "could not be reached" in str(failed)
    await kit.of(model.close)


@pytest.mark.parametrize("body", ["{", "no JSON", "[]", '"text"', "null", ""])
async def test_body_that_is_no_json_object_raises_model_failed(endpoint: Loopback, model: Any, kit: Kit, body: str) -> None:
    endpoint.does(replies(body))
    with pytest.raises(ModelFailed, match="invalid answer") as raised:
        await kit.of(model.call, HELLO)
    assert (raised.value.status, raised.value.retry) == (200, False)
    assert len(endpoint.requests) == 1


async def test_body_with_invalid_gzip_raises_model_failed(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(replies("no gzip", headers={"content-encoding": "gzip"}))
    assert "invalid answer" in str(await failure_of(way, model))


async def test_redirect_is_not_followed(endpoint: Loopback, kit: Kit, vendor: Vendor, way: Way) -> None:
    model = vendor.model(kit, endpoint, max_retries=0)
    async with loopback(vendor.name) as elsewhere:
        elsewhere.does(answer_saying(vendor, way))
        endpoint.does(refuses(307, headers={"location": f"http://127.0.0.1:{elsewhere.port}/"}))
        assert (await failure_of(way, model)).status == 307
        assert elsewhere.requests == []
    await kit.of(model.close)


@pytest.mark.parametrize("line", ["data: {\n\n", "data: no JSON\n\n", "data: []\n\n", "data: {}}\n\n"])
async def test_event_that_is_no_json_object_raises_model_failed(
    endpoint: Loopback, model: Any, kit: Kit, vendor: Vendor, line: str
) -> None:
    endpoint.does(events([line, *vendor.events("Hello")], done=vendor.done))
    with pytest.raises(ModelFailed, match="invalid answer"):
        await kit.all(model.stream(HELLO))


async def test_unknown_event_stream_lines_are_ignored(endpoint: Loopback, model: Any, kit: Kit, vendor: Vendor) -> None:
    endpoint.does(events([": ping\n\n", "garbage\n", "id: 7\n", *vendor.events("Hello")], done=vendor.done))
    assert merged(await kit.all(model.stream(HELLO))).text == "Hello"


async def test_error_event_in_stream_raises_model_failed(endpoint: Loopback, model: Any, kit: Kit, vendor: Vendor) -> None:
    endpoint.does(events([*vendor.events("Hello")[:-1], vendor.failure], done=False))
    with pytest.raises(ModelFailed, match="overloaded, sorry") as raised:
        await kit.all(model.stream(HELLO))
    assert raised.value.retry
    assert raised.value.status >= 500


async def test_cancelled_call_closes_the_connection(endpoint: Loopback, model: Any, kit: Kit, way: Way) -> None:
    if not kit.is_async:
        return  # a blocking call cannot be canceled
    endpoint.does(hangs)
    asking = asyncio.ensure_future(answer_of(way, model, HELLO))
    await endpoint.requested.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.wait_for(endpoint.gone.wait(), MOST_WAITED)


async def test_closed_stream_closes_the_connection(endpoint: Loopback, model: Any, kit: Kit, vendor: Vendor) -> None:
    endpoint.does(events(vendor.events("Hello")[:-1], done=False, then="hang"))
    stream = model.stream(HELLO)
    if kit.is_async:
        assert (await anext(stream)).text
        await stream.aclose()
    else:
        assert (await asyncio.to_thread(next, stream)).text
        await asyncio.to_thread(stream.close)
    await asyncio.wait_for(endpoint.gone.wait(), MOST_WAITED)


async def test_sequential_calls_reuse_one_connection(endpoint: Loopback, model: Any, vendor: Vendor, way: Way) -> None:
    endpoint.does(answer_saying(vendor, way))
    begun = time.monotonic()
    for _ in range(3):
        assert merged(await answer_of(way, model, HELLO)).text == "Hello"
    assert endpoint.connections == 1 or time.monotonic() - begun > MOST_IDLE


async def test_concurrent_calls_all_succeed(endpoint: Loopback, model: Any, vendor: Vendor, way: Way) -> None:
    endpoint.does(answer_saying(vendor, way))
    answers = await asyncio.gather(*(answer_of(way, model, HELLO) for _ in range(20)))
    assert {merged(each).text for each in answers} == {"Hello"}


def test_unknown_name_of_chat_raises_attribute_error() -> None:
    from threadkeep import chat

    with pytest.raises(AttributeError, match="NoModel"):
        _ = chat.NoModel  # type: ignore[attr-defined]
    assert issubclass(ModelFailed, ChatError)
