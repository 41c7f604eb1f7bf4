"""What an update makes of a session, in every store."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from typing import Any

from ..errors import InvalidField, VersionMismatch
from ..model import Session, SessionChange
from ..validation import MAX_JSON_BYTES, MAX_LABELS
from .json_merge import TooDeep, merged

_ETAG_BYTES = 12


def etag_of(session: Session) -> str:
    """Returns the version of what an update changes: equal for equal expiry, metadata, labels and context_bytes."""
    digest = blake2b(f"{session.uid},{session.expire_time},{session.context_bytes}".encode(), digest_size=_ETAG_BYTES)
    # Lengths separate the texts: no two sessions have the same bytes.
    for text in (session.metadata_json, *(each for label in sorted(session.labels.items()) for each in label)):
        raw = text.encode()
        digest.update(b",%d:" % len(raw) + raw)
    return digest.hexdigest()


def require_uid(session: Session, uid: str) -> None:
    """Raises VersionMismatch if the session has another uid: it was created after that one was deleted. Empty: any."""
    if uid and uid != session.uid:
        raise VersionMismatch(session.ref, expected=uid, actual=session.uid)


def updated(before: Session, change: SessionChange) -> Session:
    """Returns the session after the update. Raises VersionMismatch for another etag, InvalidField for metadata or labels that
    are too large together with those of the session."""
    if change.etag and change.etag != (actual := etag_of(before)):
        raise VersionMismatch(before.ref, expected=change.etag, actual=actual)
    after: dict[str, Any] = {"update_time": max(before.update_time, change.update_time)}
    if "expiry" in change.fields:
        after["expire_time"] = change.expire_time
    if "context_bytes" in change.fields:
        after["context_bytes"] = change.context_bytes
    if "metadata_json" in change.fields:
        after["metadata_json"] = change.metadata_json
    elif change.metadata_patch_json:
        after["metadata_json"] = _patched(before.metadata_json, change.metadata_patch_json)
    if "labels" in change.fields:
        after["labels"] = dict(change.labels)
    elif change.set_labels or change.remove_labels:
        after["labels"] = _relabeled(before, change)
    return replace(before, **after)


def _patched(text: str, patch: str) -> str:
    try:
        result = merged(text, patch)
    except (TooDeep, RecursionError):
        raise InvalidField("metadata_patch_json", "is nested too deep") from None
    if len(result.encode()) > MAX_JSON_BYTES:
        raise InvalidField("metadata_patch_json", f"must leave metadata of at most {MAX_JSON_BYTES} bytes; remove members")
    return result


def _relabeled(before: Session, change: SessionChange) -> dict[str, str]:
    kept = {key: value for key, value in before.labels.items() if key not in change.remove_labels}
    labels = kept | dict(change.set_labels)
    if len(labels) > MAX_LABELS:
        raise InvalidField("set_labels", f"must leave at most {MAX_LABELS} labels; remove some")
    return labels
