"""Updates of sessions: etags and patches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from threadkeep_server.domain.errors import InvalidField, VersionMismatch
from threadkeep_server.domain.model import Session, SessionChange, SessionRef
from threadkeep_server.domain.updates.json_merge import MOST_LEVELS
from threadkeep_server.domain.updates.session_updates import etag_of, updated

SESSION = Session(SessionRef("app", "alice", "s1"), "uid", 1, 1, None, '{"a": 1}', {"k": "v"})


def change(*fields: str, **values: Any) -> SessionChange:
    return SessionChange(frozenset(fields), 2, **values)


@pytest.mark.parametrize(
    "fields",
    [
        {"expire_time": 5},
        {"metadata_json": '{"a":1}'},
        {"labels": {}},
        {"labels": {"kv": ""}},
        {"labels": {"k": "v", "l": ""}},
        {"context_bytes": 1},
        {"uid": "of another session with the id"},
    ],
    ids=str,
)
def test_what_an_update_changes_changes_the_etag(fields: dict[str, Any]) -> None:
    assert etag_of(replace(SESSION, **fields)) != etag_of(SESSION)


@pytest.mark.parametrize("fields", [{"update_time": 9}, {"log_version": 3}, {"last_seq": 3}, {"labels": {"k": "v"}}], ids=str)
def test_what_an_append_changes_keeps_the_etag(fields: dict[str, Any]) -> None:
    assert etag_of(replace(SESSION, **fields)) == etag_of(SESSION)


def test_an_update_with_another_etag_is_refused_with_both() -> None:
    with pytest.raises(VersionMismatch) as refused:
        updated(SESSION, change("labels", etag="another"))
    assert refused.value.metadata == {"session_id": "s1", "expected": "another", "actual": etag_of(SESSION)}
    assert updated(SESSION, change("labels", etag=etag_of(SESSION))).labels == {}


def test_labels_are_removed_before_they_are_set() -> None:
    both = change(set_labels={"k": "new"}, remove_labels=frozenset({"k"}))
    assert updated(SESSION, both).labels == {"k": "new"}


def test_a_patch_that_is_nested_too_deep_names_its_field() -> None:
    deep = '{"a":' * (MOST_LEVELS + 1) + "1" + "}" * (MOST_LEVELS + 1)
    with pytest.raises(InvalidField, match="metadata_patch_json is nested too deep"):
        updated(SESSION, change(metadata_patch_json=deep))
