"""Invalid JSON requests for compactions."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from ..conftest import ServerFactory


def _json_refusal(port: int, name: str, body: str) -> tuple[int, dict[str, str]]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/threadkeep.v1.CompactionService/{name}",
        body.encode(),
        {"content-type": "application/json"},
    )
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(request, timeout=30)
    with raised.value as error:
        return error.code, json.load(error)["details"][0]["debug"]["metadata"]


@pytest.mark.parametrize(
    ("name", "body", "field"),
    [
        ("CompactSession", '{"strategy": {"slidingWindow": {"maxEvents": 1e9999}}}', None),
        ("CompactSession", '{"trigger": {"tokens": "9223372036854775808"}}', "trigger.tokens"),
        ("CompactSession", '{"strategy": {"slidingWindow": {}, "turnWindow": {}}}', "strategy.kind"),
        ("ApplyCompaction", '{"eventIds": {"ids": []}, "throughSeq": "1"}', "archive"),
        ("ApplyCompaction", '{"inserts": [{"events": [{"synthetic": "yes"}]}]}', "inserts[0].events[0].synthetic"),
        ("SetCompactionPolicy", '{"policy": {"trigger": {"tokens": -1.5}}}', "policy.trigger.tokens"),
        ("SetCompactionPolicy", '{"policy": ' + '{"trigger": {"anyOf": {"triggers": [' * 10_000, "body"),
    ],
)
def test_wrong_json_is_rejected_with_its_field(start_server: ServerFactory, name: str, body: str, field: str | None) -> None:
    status, metadata = _json_refusal(start_server().http_port or 0, name, body)
    assert status == 400
    assert field is None or metadata["field"] == field
    assert len(metadata["problem"]) < 1000
