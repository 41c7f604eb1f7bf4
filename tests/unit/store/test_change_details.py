"""The session fields in change rows, also in rows that an older server wrote."""

from __future__ import annotations

import json

from threadkeep_server.domain.model import Session, SessionRef
from threadkeep_server.store.sql.log import change_details

SESSION = Session(SessionRef("shop", "ann", "s1"), "uid", 1, 2, None, '{"a": 1}', {"k": "v"}, log_version=3, context_bytes=9)


def test_a_session_survives_the_encoding_of_a_change() -> None:
    assert change_details.read(change_details.created(SESSION)).after == SESSION


def test_a_field_that_sessions_did_not_have_when_the_row_was_written_has_its_default() -> None:
    reported = json.loads(change_details.created(SESSION))
    del reported["after"]["context_bytes"]
    after = change_details.read(json.dumps(reported).encode()).after
    assert after is not None
    assert (after.context_bytes, after.log_version) == (0, 3)
