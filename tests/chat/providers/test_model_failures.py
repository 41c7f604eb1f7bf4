"""How requests to models fail: the same for every adapter, in both forms, whole and streamed."""

from __future__ import annotations

import asyncio
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
"""Seconds, on a busy machine, of what takes no time; far less than it would take otherwise."""
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


async def test_a_bad_request_is_told_in_the_providers_words(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(refuses(400, "this model's context length is 8192 tokens"))
    failed = await failure_of(way, model)
    assert (failed.status, failed.retry, failed.retry_after) == (400, False, None)
    assert "context length is 8192" in str(failed)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 500])
async def test_no_failure_shows_the_key(endpoint: Loopback, kit: Kit, vendor: Vendor, way: Way, status: int) -> None:
    model = vendor.model(kit, endpoint, max_retries=0)
    endpoint.does(
        refuses(status, f"incorrect API key provided: {KEY}, or {KEY[:6]}***{KEY[-4:]}" if status in (401, 403) else KEY)
    )
    failed = await failure_of(way, model)
    assert failed.status == status
    assert KEY[:6] not in repr(failed)
    # What it came from, and the frames of that, hold the request.
    assert (failed.__cause__, failed.__context__) == (None, None)
    assert not any("site-packages" in frame.filename for frame in traceback.extract_tb(failed.__traceback__))
    await kit.of(model.close)


async def test_too_many_requests_are_told_with_the_wait(endpoint: Loopback, kit: Kit, vendor: Vendor, way: Way) -> None:
    model = vendor.model(kit, endpoint, max_retries=0)
    endpoint.does(refuses(429, "slow down", headers={"retry-after": "7"}))
    failed = await failure_of(way, model)
    assert (failed.status, failed.retry, failed.retry_after) == (429, True, 7.0)
    endpoint.does(refuses(429, "slow down", headers={"retry-after": formatdate(time.time() + 30, usegmt=True)}))
    assert (await failure_of(way, model)).retry_after == pytest.approx(30, abs=5)
    await kit.of(model.close)


async def test_the_wait_that_is_asked_for_is_kept(endpoint: Loopback, model: Any, vendor: Vendor, way: Way) -> None:
    endpoint.does(refuses(429, headers={"retry-after-ms": "150"}), answer_saying(vendor, way))  # longer than BACKOFF
    begun = time.monotonic()
    assert merged(await answer_of(way, model, HELLO)).text == "Hello"
    assert time.monotonic() - begun >= 0.15


async def test_a_wait_beyond_the_timeout_is_not_begun(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(refuses(429, headers={"retry-after": "50"}))
    begun = time.monotonic()
    assert (await failure_of(way, model, Prompt(HELLO.messages, ChatOptions(timeout=20)))).status == 429
    assert time.monotonic() - begun < MOST_WAITED
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [409, 500])
async def test_what_may_pass_is_tried_again(endpoint: Loopback, model: Any, vendor: Vendor, way: Way, status: int) -> None:
    endpoint.does(refuses(status), answer_saying(vendor, way))
    assert merged(await answer_of(way, model, HELLO)).text == "Hello"
    assert len(endpoint.requests) == 2


async def test_what_does_not_pass_is_given_up(endpoint: Loopback, kit: Kit, vendor: Vendor, way: Way) -> None:
    model = vendor.model(kit, endpoint, max_retries=1)
    endpoint.does(refuses(500, "at a loss"))
    failed = await failure_of(way, model)
    assert (failed.status, failed.retry, len(endpoint.requests)) == (500, True, 2)
    await kit.of(model.close)


async def test_a_spent_quota_is_not_tried_again(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(refuses(429, "spent", headers={"x-should-retry": "false"}))
    assert not (await failure_of(way, model)).retry
    assert len(endpoint.requests) == 1


async def test_silence_ends_within_the_time_that_was_asked_for(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(hangs)
    begun = time.monotonic()
    failed = await failure_of(way, model, QUICK)
    assert isinstance(failed, ModelTimeout)
    assert 0.2 <= time.monotonic() - begun < MOST_WAITED
    await asyncio.wait_for(endpoint.gone.wait(), MOST_WAITED)


async def test_a_stream_that_falls_silent_ends_in_time_as_well(
    endpoint: Loopback, model: Any, kit: Kit, vendor: Vendor
) -> None:
    endpoint.does(events(vendor.events("Hello")[:-1], done=False, then="hang"))
    begun = time.monotonic()
    with pytest.raises(ModelTimeout):
        await kit.all(model.stream(QUICK))
    assert 0.2 <= time.monotonic() - begun < MOST_WAITED
    await asyncio.wait_for(endpoint.gone.wait(), MOST_WAITED)


async def test_an_answer_that_drips_ends_in_time_as_well(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(drips(b" " * 1000))
    begun = time.monotonic()
    assert isinstance(await failure_of(way, model, QUICK), ModelTimeout)
    assert 0.2 <= time.monotonic() - begun < MOST_WAITED


async def test_an_answer_that_is_cut_short_is_asked_for_again(endpoint: Loopback, model: Any, kit: Kit, vendor: Vendor) -> None:
    endpoint.does(cut_short(vendor.whole("Hello")), replies(vendor.whole("Hello")))
    assert (await kit.of(model.call, HELLO)).text == "Hello"
    assert len(endpoint.requests) == 2


async def test_an_answer_that_is_always_cut_short_fails(endpoint: Loopback, kit: Kit, vendor: Vendor) -> None:
    model = vendor.model(kit, endpoint, max_retries=0)
    endpoint.does(cut_short(vendor.whole("Hello")))
    with pytest.raises(ModelFailed, match="broke off") as raised:
        await kit.of(model.call, HELLO)
    assert (raised.value.status, raised.value.retry) == (0, True)
    await kit.of(model.close)


@pytest.mark.parametrize("then", ["cut", "end"])
async def test_a_stream_that_breaks_off_fails_after_what_came(
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
    assert len(endpoint.requests) == 1  # what was given out cannot be taken back


async def test_a_stream_that_breaks_off_before_it_began_is_asked_for_again(
    endpoint: Loopback, model: Any, kit: Kit, vendor: Vendor
) -> None:
    endpoint.does(events([], done=False, then="cut"), events(vendor.events("Hello"), done=vendor.done))
    assert merged(await kit.all(model.stream(HELLO))).text == "Hello"
    assert len(endpoint.requests) == 2


async def test_nobody_there(kit: Kit, vendor: Vendor, way: Way) -> None:
    async with loopback(vendor.name) as endpoint:
        model = vendor.model(kit, endpoint, max_retries=0)
    failed = await failure_of(way, model)
    assert (failed.status, failed.retry) == (0, True)
    assert "could not be reached" in str(failed)
    await kit.of(model.close)


@pytest.mark.parametrize("body", ["{", "no JSON", "[]", '"text"', "null", ""])
async def test_a_body_that_is_no_json_object_cannot_be_read(endpoint: Loopback, model: Any, kit: Kit, body: str) -> None:
    endpoint.does(replies(body))
    with pytest.raises(ModelFailed, match="invalid answer") as raised:
        await kit.of(model.call, HELLO)
    assert (raised.value.status, raised.value.retry) == (200, False)
    assert len(endpoint.requests) == 1


async def test_a_body_that_is_packed_badly_cannot_be_read(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(replies("no gzip", headers={"content-encoding": "gzip"}))
    assert "invalid answer" in str(await failure_of(way, model))


async def test_nothing_goes_where_an_endpoint_points(endpoint: Loopback, kit: Kit, vendor: Vendor, way: Way) -> None:
    model = vendor.model(kit, endpoint, max_retries=0)
    async with loopback(vendor.name) as elsewhere:
        elsewhere.does(answer_saying(vendor, way))
        endpoint.does(refuses(307, headers={"location": f"http://127.0.0.1:{elsewhere.port}/"}))
        assert (await failure_of(way, model)).status == 307
        assert elsewhere.requests == []
    await kit.of(model.close)


@pytest.mark.parametrize("line", ["data: {\n\n", "data: no JSON\n\n", "data: []\n\n", "data: {}}\n\n"])
async def test_an_event_that_is_no_json_object_cannot_be_read(
    endpoint: Loopback, model: Any, kit: Kit, vendor: Vendor, line: str
) -> None:
    endpoint.does(events([line, *vendor.events("Hello")], done=vendor.done))
    with pytest.raises(ModelFailed, match="invalid answer"):
        await kit.all(model.stream(HELLO))


async def test_lines_that_are_no_fields_are_passed_over(endpoint: Loopback, model: Any, kit: Kit, vendor: Vendor) -> None:
    endpoint.does(events([": ping\n\n", "garbage\n", "id: 7\n", *vendor.events("Hello")], done=vendor.done))
    assert merged(await kit.all(model.stream(HELLO))).text == "Hello"


async def test_a_server_that_fails_in_the_middle_says_so(endpoint: Loopback, model: Any, kit: Kit, vendor: Vendor) -> None:
    endpoint.does(events([*vendor.events("Hello")[:-1], vendor.failure], done=False))
    with pytest.raises(ModelFailed, match="overloaded, sorry") as raised:
        await kit.all(model.stream(HELLO))
    assert raised.value.retry
    assert raised.value.status >= 500


async def test_cancelling_hangs_up(endpoint: Loopback, model: Any, kit: Kit, way: Way) -> None:
    if not kit.is_async:
        return  # a blocking call has nobody who could cancel it
    endpoint.does(hangs)
    asking = asyncio.ensure_future(answer_of(way, model, HELLO))
    await endpoint.asked.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.wait_for(endpoint.gone.wait(), MOST_WAITED)


async def test_closing_a_stream_hangs_up(endpoint: Loopback, model: Any, kit: Kit, vendor: Vendor) -> None:
    endpoint.does(events(vendor.events("Hello")[:-1], done=False, then="hang"))
    stream = model.stream(HELLO)
    if kit.is_async:
        assert (await anext(stream)).text
        await stream.aclose()
    else:
        assert (await asyncio.to_thread(next, stream)).text
        await asyncio.to_thread(stream.close)
    await asyncio.wait_for(endpoint.gone.wait(), MOST_WAITED)


async def test_a_connection_serves_one_call_after_the_other(endpoint: Loopback, model: Any, vendor: Vendor, way: Way) -> None:
    endpoint.does(answer_saying(vendor, way))
    for _ in range(3):
        assert merged(await answer_of(way, model, HELLO)).text == "Hello"
    assert endpoint.connections == 1


async def test_many_at_once(endpoint: Loopback, model: Any, vendor: Vendor, way: Way) -> None:
    endpoint.does(answer_saying(vendor, way))
    answers = await asyncio.gather(*(answer_of(way, model, HELLO) for _ in range(20)))
    assert {merged(each).text for each in answers} == {"Hello"}


def test_an_unknown_name_is_none_of_the_kit() -> None:
    from threadkeep import chat

    with pytest.raises(AttributeError, match="NoModel"):
        _ = chat.NoModel  # type: ignore[attr-defined]
    assert issubclass(ModelFailed, ChatError)
