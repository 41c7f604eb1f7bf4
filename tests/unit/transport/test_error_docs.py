"""The documented errors equal those of the API."""

from __future__ import annotations

import re
from pathlib import Path

from threadkeep.v1 import error_reason_pb2
from threadkeep_server.domain.errors import ThreadkeepError

_DOC = Path(__file__).parents[3] / "docs" / "errors.md"
_ROW = re.compile(r"^\| `([A-Z_]+)` \| ([A-Z_]+) \|", re.MULTILINE)


def test_every_reason_is_listed_with_its_code() -> None:
    names = error_reason_pb2.ErrorReason.DESCRIPTOR.values_by_name
    reasons = {name.removeprefix("ERROR_REASON_") for name in names} - {"UNSPECIFIED"}
    rows = dict(_ROW.findall(_DOC.read_text(encoding="utf-8")))
    assert rows.keys() == reasons
    assert rows == {each.reason: each.kind.name for each in ThreadkeepError.__subclasses__()}
