"""Checks what else is stored of a session: labels, compactions and operation ids."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Row

from ....domain.removals import decode_outcome
from ..log.rows import record_of
from .findings import Findings
from .logs import name_of


def check_labels(session: Row[Any], rows: Iterable[Row[Any]], findings: Findings) -> None:
    """Compares the labels that are searched with those of the session."""
    listed = {row.key: row.value for row in rows}
    try:
        stored = json.loads(session.labels_json)
    except ValueError:
        findings.add("labels", name_of(session), "its labels are not JSON")
        return
    if stored != listed:
        findings.add("labels", name_of(session), "the index of labels differs from the labels of the session")


def check_compactions(session: Row[Any], rows: Iterable[Row[Any]], findings: Findings) -> None:
    name = name_of(session)
    for row in rows:
        try:
            record_of(row)
        except ValueError:
            findings.add("compaction", name, f"the record of compaction {row.compaction_id!r} cannot be read")
        if row.log_version > session.log_version or row.window_version > session.window_version:
            findings.add("versions", name, f"compaction {row.compaction_id!r} is of a later version than the session")
        if max(row.first_seq, row.last_seq) > session.last_seq:
            findings.add("compaction", name, f"compaction {row.compaction_id!r} names an event after the last one")


def check_operations(session: Row[Any], rows: Iterable[Row[Any]], findings: Findings) -> None:
    """Checks what repeated calls get."""
    name = name_of(session)
    for row in rows:
        subject = f"operation {row.operation_id!r} of {name}"
        try:
            outcome = decode_outcome(row.outcome)
        except (ValueError, TypeError, KeyError, AttributeError):
            findings.add("operation", subject, "its outcome cannot be read")
            continue
        if not row.fingerprint:
            findings.add("operation", subject, "it has no fingerprint of its request")
        if outcome.fork:
            continue  # its versions are those of another session
        then = outcome.versions
        if then.log_version > session.log_version or then.last_seq > session.last_seq:
            findings.add("operation", subject, "its outcome is of a later version than the session")
        if any(not 1 <= seq <= session.last_seq for seq in (*outcome.seqs, *(seq for _, seq, _ in outcome.added))):
            findings.add("operation", subject, "its outcome names an event that the session does not have")
