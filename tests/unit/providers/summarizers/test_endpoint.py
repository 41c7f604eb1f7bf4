"""Both vendors' libraries against an endpoint that misbehaves."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tests.support.models.model_endpoint import (
    TEXT,
    Behaviour,
    ModelEndpoint,
    breaks_off,
    compressed,
    hangs,
    never_ends,
    replies,
)
from threadkeep_server.domain.model import NO_USAGE, Usage
from threadkeep_server.providers.http import MAX_ANSWER_BYTES
from threadkeep_server.providers.summarizers.base import Summarizer, SummarizerFailed, Summary

from .conftest import KEY, Opened

PROMPT = "User: hello"
SECRET = "the vendor's words, which quote sk-test-0123456789"
BUSY = replies({"error": {"message": SECRET}}, status=500)


async def summarize(summarizer: Summarizer, max_tokens: int = 100) -> Summary:
    return await summarizer.summarize(system_prompt="Be brief.", prompt=PROMPT, max_tokens=max_tokens)


async def problem(summarizer: Summarizer, max_tokens: int = 100) -> str:
    with pytest.raises(SummarizerFailed) as failed:
        await summarize(summarizer, max_tokens)
    return failed.value.problem


async def test_a_summary_has_text_usage_and_model(model: ModelEndpoint, opened: Opened) -> None:
    model.does(replies(model.answer(f"\n {TEXT}\n")))
    async with opened() as summarizer:
        assert summarizer.model == "small"
        usage = Usage(input=50, output=12, total=62, cached=20, reasoning=3)
        assert await summarize(summarizer) == Summary(TEXT, usage, "small-2026")


async def test_the_embedding_request_has_the_documented_form(model: ModelEndpoint, opened: Opened) -> None:
    async with opened() as summarizer:
        await summarize(summarizer)
    (request,) = model.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    question = {"role": "user", "content": PROMPT}
    if model.provider == "openai":
        assert request.path == "/v1/chat/completions"
        messages = [{"role": "system", "content": "Be brief."}, question]
        assert request.json == {"model": "small", "messages": messages, "max_tokens": 100}
    else:
        assert request.path == "/v1/messages"
        assert request.json == {"model": "small", "system": "Be brief.", "messages": [question], "max_tokens": 100}


async def test_an_empty_system_prompt_is_not_sent(model: ModelEndpoint, opened: Opened) -> None:
    async with opened() as summarizer:
        await summarizer.summarize(system_prompt="", prompt=PROMPT, max_tokens=10)
    (request,) = model.requests
    assert request.json["messages"] == [{"role": "user", "content": PROMPT}]
    assert "system" not in request.json


async def test_no_more_output_is_requested_than_the_settings_allow(model: ModelEndpoint, opened: Opened) -> None:
    async with opened(max_output_tokens=64) as summarizer:
        await summarize(summarizer, max_tokens=100)
    assert model.requests[0].json["max_tokens"] == 64


async def test_a_long_prompt_is_refused_before_it_is_sent(model: ModelEndpoint, opened: Opened) -> None:
    async with opened(max_input_tokens=5) as summarizer:
        assert await problem(summarizer) == "the prompt has 6 tokens, the limit is 5"
    assert model.requests == []


async def test_input_holds_what_is_written_to_a_cache(model: ModelEndpoint, opened: Opened) -> None:
    if model.provider == "openai":
        counts = {"prompt_tokens": 15, "completion_tokens": 4, "total_tokens": 19}
    else:
        counts = {"input_tokens": 5, "cache_creation_input_tokens": 10, "output_tokens": 4}
    model.does(replies(model.answer(usage=counts)))
    async with opened() as summarizer:
        assert (await summarize(summarizer)).usage == Usage(input=15, output=4, total=19)


async def test_usage_and_model_may_be_missing(model: ModelEndpoint, opened: Opened) -> None:
    model.does(replies(model.answer(usage=None, model=None)))
    async with opened() as summarizer:
        assert await summarize(summarizer) == Summary(TEXT, NO_USAGE, "small")


async def test_the_environment_names_neither_address_nor_key_nor_proxy(
    model: ModelEndpoint, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "sk-of-the-environment")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    async with opened(api_key="") as summarizer:
        assert (await summarize(summarizer)).text == TEXT
    assert "sk-of-the-environment" not in str(model.requests[0].headers)


async def test_transient_errors_are_retried(model: ModelEndpoint, opened: Opened) -> None:
    statuses = (408, 409, 429, 500, 503, 529)
    async with opened(max_attempts=len(statuses) + 1, backoff=0.0) as summarizer:
        model.does(*(replies({"error": {"message": SECRET}}, status=status) for status in statuses), replies(model.answer()))
        assert (await summarize(summarizer)).text == TEXT
    assert len(model.requests) == len(statuses) + 1


async def test_permanent_failures_are_not_retried(model: ModelEndpoint, opened: Opened) -> None:
    statuses = (307, 400, 401, 403, 404, 422)
    elsewhere = {"location": f"{model.url}/elsewhere"}
    model.does(*(replies({"error": {"message": SECRET}}, status=status, headers=elsewhere) for status in statuses))
    async with opened() as summarizer:
        assert [await problem(summarizer) for _ in statuses] == [f"refused ({status})" for status in statuses]
    assert len(model.requests) == len(statuses)


async def test_attempts_are_bounded(model: ModelEndpoint, opened: Opened) -> None:
    model.does(BUSY)
    async with opened(max_attempts=3) as summarizer:
        assert await problem(summarizer) == "answered with an error (500)"
    assert len(model.requests) == 3


async def test_an_endpoint_that_forbids_retries_is_not_retried(model: ModelEndpoint, opened: Opened) -> None:
    model.does(replies({}, status=429, headers={"x-should-retry": "false"}))
    async with opened() as summarizer:
        assert await problem(summarizer) == "refused (429)"
    assert len(model.requests) == 1


async def test_retry_after_is_waited_for(model: ModelEndpoint, opened: Opened) -> None:
    model.does(replies({}, status=429, headers={"retry-after": "1"}), replies(model.answer()))
    async with opened() as summarizer:
        began = time.monotonic()
        assert (await summarize(summarizer)).text == TEXT
        assert time.monotonic() - began >= 1.0


@pytest.mark.parametrize("form", ["seconds", "date"])
async def test_a_retry_after_beyond_the_deadline_is_not_waited_for(model: ModelEndpoint, opened: Opened, form: str) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=600), usegmt=True)
    model.does(replies({}, status=429, headers={"retry-after": "600" if form == "seconds" else later}))
    async with opened(deadline=60.0) as summarizer:
        began = time.monotonic()
        assert await problem(summarizer) == "refused (429)"
        assert time.monotonic() - began < 300  # the first request of a process loads the library
    assert len(model.requests) == 1


async def test_an_unusable_retry_after_is_ignored(model: ModelEndpoint, opened: Opened) -> None:
    values = ("soon", "-5", "nan", "inf", "", "Mon, 99 Foo 2026", "Sun, 06 Nov 1994 08:49:37 GMT")
    trouble = [replies({}, status=503, headers={"retry-after": value}) for value in values]
    model.does(*trouble, replies(model.answer()))
    async with opened(max_attempts=len(values) + 1, backoff=0.0) as summarizer:
        assert (await summarize(summarizer)).text == TEXT


@pytest.mark.parametrize("behavior", [hangs, never_ends(b" ", every=0.02)], ids=["silent", "dripping"])
async def test_a_slow_response_is_a_timeout_of_the_attempt(model: ModelEndpoint, opened: Opened, behavior: Behaviour) -> None:
    model.does(behavior, replies(model.answer()))
    async with opened(timeout=1.0, max_attempts=20) as summarizer:
        assert (await summarize(summarizer)).text == TEXT
    assert len(model.requests) >= 2  # more if even the good answer took longer than a second


@pytest.mark.parametrize("timeout", [0.2, 600.0], ids=["between attempts", "in the midst of one"])
async def test_the_deadline_ends_all_attempts(model: ModelEndpoint, opened: Opened, timeout: float) -> None:
    model.does(hangs)
    async with opened(timeout=timeout, deadline=0.5, max_attempts=100) as summarizer:
        began = time.monotonic()
        assert await problem(summarizer) == "timed out"
        assert time.monotonic() - began < 300
    assert len(model.requests) <= 3


async def test_canceling_closes_the_connection_at_once(model: ModelEndpoint, opened: Opened) -> None:
    model.does(hangs)
    async with opened(timeout=60.0) as summarizer:
        asking = asyncio.create_task(summarize(summarizer))
        async with asyncio.timeout(60):
            await model.requested.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await model.gone.wait()
    assert len(model.requests) == 1


@pytest.mark.parametrize("text", ["", " \n\t ", None], ids=["empty", "blank", "null"])
async def test_a_blank_answer_is_no_summary(model: ModelEndpoint, opened: Opened, text: str | None) -> None:
    answer = model.answer(text) if text is not None or model.provider == "openai" else model.answer(content=[])
    model.does(replies(answer))
    async with opened() as summarizer:
        assert await problem(summarizer) == "gave an empty answer"
    assert len(model.requests) == 1


async def test_a_cut_off_answer_is_no_summary(model: ModelEndpoint, opened: Opened) -> None:
    model.does(replies(model.answer(ending="length" if model.provider == "openai" else "max_tokens")))
    async with opened() as summarizer:
        assert await problem(summarizer, max_tokens=12) == "was cut off at 12 tokens"


async def test_a_refusal_is_no_summary(model: ModelEndpoint, opened: Opened) -> None:
    model.does(replies(model.answer(ending="content_filter" if model.provider == "openai" else "refusal")))
    async with opened() as summarizer:
        assert await problem(summarizer) == "declined to answer"


async def test_a_refusal_in_its_own_field_is_no_summary(model: ModelEndpoint, opened: Opened) -> None:
    """OpenAI has a separate field for it; Anthropic has only the stop reason."""
    message = {"role": "assistant", "content": None, "refusal": "I cannot."}
    choices = [{"index": 0, "finish_reason": "stop", "message": message}]
    model.does(replies(model.answer(choices=choices, stop_reason="refusal")))
    async with opened() as summarizer:
        assert await problem(summarizer) == "declined to answer"


async def test_more_text_than_tokens_can_hold_is_no_summary(model: ModelEndpoint, opened: Opened) -> None:
    model.does(replies(model.answer("x" * 1601)), replies(model.answer("x" * 1600)))
    async with opened() as summarizer:
        assert await problem(summarizer, max_tokens=100) == "gave an answer that is too long"
        assert len((await summarize(summarizer, max_tokens=100)).text) == 1600


HUGE = " " * (MAX_ANSWER_BYTES + 1)


@pytest.mark.parametrize("behavior", [replies(HUGE), never_ends(), compressed(HUGE)], ids=["huge", "endless", "bomb"])
async def test_an_answer_is_read_up_to_a_limit(model: ModelEndpoint, opened: Opened, behavior: Behaviour) -> None:
    model.does(behavior)
    async with opened() as summarizer:
        assert await problem(summarizer) == "gave an answer that is too long"
    assert len(model.requests) == 1


async def test_a_compressed_answer_is_read(model: ModelEndpoint, opened: Opened) -> None:
    model.does(compressed(json.dumps(model.answer())))
    async with opened() as summarizer:
        assert (await summarize(summarizer)).text == TEXT


async def test_a_broken_off_answer_is_retried(model: ModelEndpoint, opened: Opened) -> None:
    model.does(breaks_off(model.answer()), replies(model.answer()), breaks_off(model.answer()))
    async with opened(max_attempts=2) as summarizer:
        assert (await summarize(summarizer)).text == TEXT
        assert await problem(summarizer) == "broke off its answer"
    assert len(model.requests) == 4


NO_ANSWERS = ["<html>oops</html>", "{", "", "null", "[]", "3", '"text"', "{}", '{"choices": [], "content": 5}']


async def test_an_invalid_answer_is_reported(model: ModelEndpoint, opened: Opened) -> None:
    json_, html = ({"content-type": kind} for kind in ("application/json", "text/html"))
    model.does(*(replies(body, headers=headers) for headers in (json_, html) for body in NO_ANSWERS))
    async with opened() as summarizer:
        for _ in range(2 * len(NO_ANSWERS)):
            assert await problem(summarizer) == "gave an answer that cannot be read"
    assert len(model.requests) == 2 * len(NO_ANSWERS)


async def test_invalid_text_is_reported(model: ModelEndpoint, opened: Opened) -> None:
    texts: list[object] = [5, ["a"], {"a": 1}, "half a pair \ud800"]
    model.does(*(replies(model.answer(text)) for text in texts))
    async with opened() as summarizer:
        for _ in texts:
            assert await problem(summarizer) == "gave an answer that cannot be read"


async def test_an_unreachable_endpoint_is_reported(model: ModelEndpoint, opened: Opened) -> None:
    async with opened(base_url="http://127.0.0.1:1/v1", max_attempts=2) as summarizer:
        assert await problem(summarizer) == "could not be reached"


async def test_errors_contain_neither_key_nor_address_nor_the_providers_text(
    model: ModelEndpoint, opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    body = {"error": {"message": SECRET}}
    answers = [replies(body, status=401), replies(body, status=500), breaks_off(body), replies(SECRET)]
    for timeout, behaviors in ((60.0, answers), (1.0, [hangs])):  # answers may take longer than a second
        model.does(*behaviors)
        async with opened(max_attempts=1, timeout=timeout) as summarizer:
            for _ in behaviors:
                with pytest.raises(SummarizerFailed) as failed:
                    await summarize(summarizer)
                assert failed.value.__cause__ is None
                assert failed.value.__context__ is None
                reported = "".join(traceback.format_exception(failed.value, chain=True)) + repr(failed.value)
                assert not [secret for secret in (KEY, model.url, SECRET, PROMPT) if secret in reported]
            assert KEY not in repr(summarizer)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("threadkeep_server")]
    assert "small refused (401) (attempt 1), giving up" in ours
    assert not [line for line in ours for secret in (KEY, model.url, SECRET, PROMPT) if secret in line]


async def test_a_budget_of_tokens_is_kept(model: ModelEndpoint, opened: Opened) -> None:
    """A summary is let through if its prompt (6) and all it may answer (100) fit, and counts as what was reported (62)."""
    async with opened(max_tokens_per_hour=62 + 106) as summarizer:
        await summarize(summarizer)
        await summarize(summarizer)
        assert await problem(summarizer) == "budget of tokens spent"
    assert len(model.requests) == 2


@pytest.mark.parametrize(("behavior", "spent"), [(replies({}, status=401), False), (hangs, True)], ids=["refused", "timed out"])
async def test_the_possible_cost_of_a_failed_attempt_counts(
    model: ModelEndpoint, opened: Opened, behavior: Behaviour, spent: bool
) -> None:
    model.does(behavior, replies(model.answer()))
    timeout = 1.0 if spent else 60.0
    async with opened(max_tokens_per_hour=110, max_attempts=1, timeout=timeout) as summarizer:
        with pytest.raises(SummarizerFailed):
            await summarize(summarizer)
        if spent:
            assert await problem(summarizer) == "budget of tokens spent"
        else:
            assert (await summarize(summarizer)).text == TEXT
