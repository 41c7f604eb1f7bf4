"""What a write makes of a memory, in every store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

from ..errors import MemoryVersionMismatch
from ..memories import Memory, MemoryDraft


@dataclass(frozen=True, slots=True)
class MemoryWrite:
    """An entry to write. `expected`: the etag of the stored entry; empty: there must be none; None: no precondition."""

    draft: MemoryDraft
    expected: str | None = None


class WriteOutcome(IntEnum):
    """The values are those of threadkeep.v1.MemoryWriteOutcome."""

    ADDED = 1
    REPLACED = 2
    UNCHANGED = 3
    KEPT = 4


class Written(NamedTuple):
    """The result of a write, and the entry that is stored afterwards."""

    outcome: WriteOutcome
    memory: Memory


def is_replay(draft: MemoryDraft, stored: MemoryDraft) -> bool:
    """Returns whether a draft equals the memory stored under its name. The text, which follows from the content, is not
    compared."""
    return replace(draft, text=stored.text) == stored


def outcomes_of(
    writes: Sequence[MemoryWrite], stored: Mapping[str, Memory], *, replacing: bool
) -> Sequence[tuple[MemoryWrite, WriteOutcome]]:
    """Returns what to do with each entry. `stored`: by name, without expired ones; `replacing`: whether entries that exist are
    replaced. Raises MemoryVersionMismatch."""
    return [(write, _outcome(index, write, stored.get(write.draft.name), replacing)) for index, write in enumerate(writes)]


def _outcome(index: int, write: MemoryWrite, known: Memory | None, replacing: bool) -> WriteOutcome:
    if known is not None and is_replay(write.draft, known.draft):
        # Whatever the precondition: the response to the write that stored it may have been lost.
        return WriteOutcome.UNCHANGED if replacing else WriteOutcome.KEPT
    actual = "" if known is None else known.etag
    if write.expected is not None and write.expected != actual:
        field = f"writes[{index}].expected_etag"
        raise MemoryVersionMismatch(write.draft.id, field, expected=write.expected, actual=actual)
    if known is None:
        return WriteOutcome.ADDED
    return WriteOutcome.REPLACED if replacing else WriteOutcome.KEPT
