"""The record of a conversation, as a value of its session's state."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from pydantic import ConfigDict, TypeAdapter
from pydantic_ai.conversation_store import ConversationRecord
from pydantic_ai.usage import RunUsage

from ...v1.session_pb2 import Session

KEY = "pydantic_ai"
"""The key of the record in the session's state."""
DELETING = '"deleting"'
"""The value in its place while the conversation is being deleted."""
_SCOPE = "pydantic_ai_scope"
_DELETED_WITHIN = timedelta(minutes=1)
"""Longer than a call: a deletion that takes longer was interrupted."""
_RECORDS = TypeAdapter(list[ConversationRecord], config=ConfigDict(ser_json_bytes="base64", val_json_bytes="base64"))


@dataclass(frozen=True, slots=True)
class Place:
    """What the server has of a conversation at a log version; by default nothing. `scope`: the session's label of it."""

    exists: bool = False
    is_deleting: bool = False
    log_version: int = 0
    record: ConversationRecord | None = None
    scope: str | None = None

    @property
    def revision(self) -> str | None:
        """The revision; None without a record."""
        return self.record.revision if self.record is not None else None

    @property
    def head_id(self) -> str | None:
        """The last entry."""
        return self.record.head_id if self.record is not None else None


def record_text(record: ConversationRecord) -> str:
    """The JSON of a record."""
    return _RECORDS.dump_json([record]).decode()[1:-1]


def stored_record(text: str | None) -> ConversationRecord | None:
    """The record of a value; None if there is none, or if the conversation is being deleted."""
    return None if text is None or text == DELETING else _RECORDS.validate_json(f"[{text}]")[0]


def place_of(session: Session, text: str | None, head_id: str | None) -> Place:
    """What the server has, where `head_id` is the last entry of the window."""
    if text == DELETING:
        return Place(exists=True, is_deleting=True)
    record = _record_of(session, stored_record(text), head_id)
    return Place(True, False, session.log_version, record, session.labels.get(_SCOPE))


def _record_of(session: Session, stored: ConversationRecord | None, head_id: str | None) -> ConversationRecord | None:
    """The record as it was saved, or, where others changed the window since, as that leaves it: with another revision."""
    own = stored is not None and stored.conversation_id == session.ref.session_id
    if stored is not None and own and head_id == stored.head_id:
        return stored
    if head_id is None and not own:
        return None
    if stored is None or not own:  # of another framework, or a fork that was not made by a store
        usage = session.usage
        stored = ConversationRecord(
            conversation_id=session.ref.session_id,
            head_id=head_id,
            usage=RunUsage(
                input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, cache_read_tokens=usage.cached_tokens
            ),
            scope=stored.scope if stored is not None else None,
            forked_from=session.parent.session.session_id or None,
            revision=session.uid,
        )
    return replace(
        stored,
        head_id=head_id,
        deferred_tool_requests=None,
        revision=f"{stored.revision}/{head_id or ''}",
        updated_at=session.update_time.ToDatetime(UTC),
    )


def is_overdue(session: Session) -> bool:
    """Whether a deletion of the session was interrupted."""
    return datetime.now(UTC) - session.update_time.ToDatetime(UTC) > _DELETED_WITHIN


def labels_of(scope: str | None) -> Mapping[str, str]:
    """The labels of a session by which conversations of a scope are found."""
    return {} if scope is None else {_SCOPE: label_of(scope)}


def label_of(scope: str) -> str:
    """A scope as the value of a label, which has at most 255 bytes."""
    return scope if len(scope.encode()) <= 255 else hashlib.sha256(scope.encode()).hexdigest()
