"""Errors of model requests, the same for all providers: which can be retried, and never a key."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from ..errors import ModelFailed, ModelTimeout
from .endpoint import without_key

_RETRIED = frozenset({408, 409, 429})
_ABOUT_KEYS = frozenset({401, 403})
_MAX_DETAIL = 500
# Statuses of errors inside of an answer, whose own status is 200.
_STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def rejected(provider: str, status: int, headers: Mapping[str, str], body: bytes, secret: str = "") -> ModelFailed:
    """Returns the error for an HTTP status. It contains the provider's message, except for statuses about keys, because some
    messages quote the key."""
    should_retry = headers.get("x-should-retry")  # an exhausted quota is 429 as well, and waiting does not help
    retry = should_retry == "true" or (should_retry != "false" and (status in _RETRIED or status >= 500))
    found = _json(body)
    words = "" if status in _ABOUT_KEYS else _words(found, secret)
    what = f"answered with an error ({status})" if status >= 500 else f"refused the request ({status})"
    after = _after(headers)
    after = _delay(found) if after is None else after
    return ModelFailed(_sentence(provider, what, words), status=status, retry=retry, retry_after=after)


def failed_in_stream(provider: str, error: Any, secret: str = "") -> ModelFailed:
    """Returns the error for a failure that a server reports inside of its answer."""
    details = error if isinstance(error, dict) else {}
    status = _number(details.get("code")) or _number(details.get("status")) or _STATUS_OF.get(str(details.get("type")), 0)
    words = "" if status in _ABOUT_KEYS else _words({"error": error}, secret)
    retry = status in _RETRIED or status >= 500 or status == 0
    return ModelFailed(_sentence(provider, "failed while it answered", words), status=status, retry=retry)


def invalid_answer(provider: str, why: str) -> ModelFailed:
    return ModelFailed(f"{provider} sent an invalid answer: {why}", status=200)


def unreachable(provider: str) -> ModelFailed:
    return ModelFailed(f"{provider} could not be reached", retry=True)


def interrupted(provider: str) -> ModelFailed:
    return ModelFailed(f"{provider} broke off its answer", retry=True)


def timed_out(provider: str, seconds: float) -> ModelTimeout:
    return ModelTimeout(f"{provider} did not answer within {seconds:g} s", retry=True)


def _sentence(provider: str, what: str, words: str) -> str:
    return f"{provider} {what}: {words}" if words else f"{provider} {what}"


def _words(body: Any, secret: str) -> str:
    error = body.get("error", body) if isinstance(body, dict) else ""
    words = error.get("message", "") if isinstance(error, dict) else error
    if not isinstance(words, str):
        return ""
    return without_key(words, secret)[:_MAX_DETAIL]


def _json(body: bytes) -> Any:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found[0] if isinstance(found, list) and found else found  # some answers of Google are wrapped in a list


def _delay(body: Any) -> float | None:
    """Returns the wait that Google reports in the body: {"error": {"details": [{"retryDelay": "31s"}]}}."""
    error = body.get("error") if isinstance(body, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for each in details if isinstance(details, list) else ():
        delay = each.get("retryDelay") if isinstance(each, dict) else None
        if isinstance(delay, str) and re.fullmatch(r"\d+(\.\d+)?s", delay):
            return float(delay[:-1])
    return None


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _after(headers: Mapping[str, str]) -> float | None:
    """Returns seconds, from a number or an HTTP date; None for anything else."""
    try:
        if exact := headers.get("retry-after-ms"):
            return max(0.0, float(exact) / 1000)
        value = headers.get("retry-after", "").strip()
        if value.isdecimal():
            return float(value)
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - time.time())
