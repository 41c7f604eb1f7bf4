"""Receipts of retention: what became of a session, by which policy, when, and where its archive is. Times in nanoseconds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from typing import Any

from ..model import SessionRef
from .policies import Action, Form


class Outcome(Enum):
    """What a run did with a session. PLANNED: nothing yet; of a receipt that stays so, the server stopped before the deletion
    was known. CHANGED: the session was changed or deleted by others meanwhile, so it stayed.
    FAILED: the archive or the database failed; the session is there, unless its deletion was stored and not reported, which the
    next run finds out."""

    PLANNED = "planned"
    DELETED = "deleted"
    CHANGED = "changed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Archived:
    """An archive. `sha256`, in hex, and `size`, in bytes: of the object as stored. `lines_sha256`: of the JSON lines in it.
    `events`: the number of its events."""

    name: str
    form: Form
    sha256: str
    size: int
    lines_sha256: str
    events: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """The receipt of a session. `size`: bytes of its active window, an estimate. `archive`: None of a deletion alone. `time`:
    of the outcome. `restored`: when its archive was restored last, 0: never. `labels`: of the session; None if not known."""

    id: str
    run_id: str
    policy: str
    action: Action
    tenant: str
    ref: SessionRef
    uid: str
    log_version: int
    events: int
    size: int
    create_time: int
    update_time: int
    time: int
    outcome: Outcome = Outcome.PLANNED
    archive: Archived | None = None
    reason: str = ""
    restored: int = 0
    labels: Mapping[str, str] | None = None

    def ended(self, outcome: Outcome, time: int, reason: str = "") -> Receipt:
        """Returns the receipt with the outcome."""
        return replace(self, outcome=outcome, time=time, reason=reason)

    def to_json(self) -> bytes:
        """Returns the stored form."""
        value = asdict(self) | {"ref": list(self.ref), "action": self.action.value, "outcome": self.outcome.value}
        if self.archive is not None:
            value["archive"] = asdict(self.archive) | {"form": self.archive.form.value}
        return json.dumps({"version": 1, **value}, ensure_ascii=False, indent=1).encode()

    @classmethod
    def from_json(cls, raw: bytes) -> Receipt:
        """Returns the receipt of its stored form. Raises ValueError."""
        try:
            value: dict[str, Any] = json.loads(raw)
            if value.pop("version") != 1:
                raise ValueError("a receipt of another version")
            found = value["archive"]
            archive = None if found is None else Archived(**found | {"form": Form(found["form"])})
            named = {"ref": SessionRef(*value["ref"]), "action": Action(value["action"]), "archive": archive}
            return cls(**value | named | {"outcome": Outcome(value["outcome"])})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a receipt of retention: {error}") from None


@dataclass(frozen=True, slots=True)
class RunPlace:
    """How far a run has come in the list of the sessions that a policy selects. `now`: the time at which it began, by which
    sessions are old enough. `policy`: empty at the beginning. `cursor`: of the store's list; None: at its beginning."""

    now: int
    policy: str = ""
    cursor: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class RunReceipt:
    """The receipt of a run over one tenant. `held`: why it was refused, and did nothing; empty if it was free to. `more`: more
    sessions are selected. `following`, which is not stored: where another run continues; None if nothing is left, or it ended
    since too much failed."""

    id: str
    tenant: str
    began: int
    ended: int
    receipts: Sequence[Receipt] = field(default_factory=tuple)
    held: str = ""
    more: bool = False
    following: RunPlace | None = None

    def counts(self) -> dict[str, int]:
        """Returns the number of sessions by outcome."""
        return dict(Counter(each.outcome.value for each in self.receipts))

    def to_json(self) -> bytes:
        """Returns the stored form, which has the ids of the receipts, and names no session: an erasure need not change it."""
        own = {name: getattr(self, name) for name in ("id", "tenant", "began", "ended", "held", "more")}
        sums = {
            "events": sum(each.events for each in self.receipts if each.outcome is Outcome.DELETED),
            "archive_bytes": sum(each.archive.size for each in self.receipts if each.archive is not None),
        }
        sessions = [
            {
                "receipt": each.id,
                "policy": each.policy,
                "uid": each.uid,
                "outcome": each.outcome.value,
                "sha256": each.archive and each.archive.sha256,
            }
            for each in self.receipts
        ]
        whole = {"version": 1, **own, "outcomes": self.counts(), **sums, "sessions": sessions}
        return json.dumps(whole, ensure_ascii=False, indent=1).encode()
