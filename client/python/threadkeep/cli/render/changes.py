"""Changes for people and for programs: one line per event, and one per change of a session as a whole."""

from __future__ import annotations

from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from rich.console import Console
from rich.text import Text

from ...v1.compaction_pb2 import Compaction
from ...v1.event_pb2 import SessionEvent
from ...v1.event_removal_pb2 import (
    REMOVAL_KIND_CLEARED,
    REMOVAL_KIND_ERASED,
    REMOVAL_KIND_POPPED,
    REMOVAL_KIND_REPLACED,
    RemovalNotice,
)
from ...v1.session_pb2 import SessionRef, WindowCounters
from ...v1.subscription_pb2 import (
    SESSION_CHANGE_KIND_CREATED,
    SESSION_CHANGE_KIND_DELETED,
    SESSION_CHANGE_KIND_EXPIRED,
    SESSION_CHANGE_KIND_MOVED_IN,
    SESSION_CHANGE_KIND_MOVED_OUT,
    SESSION_CHANGE_KIND_UPDATED,
    Change,
    SessionChange,
)
from ..errors import counted
from .output import as_json, event_json, excerpt, ref_json, role_of, shown_time, summary_of, utf8, window_json
from .states import state_change_json, state_line

_ROLE_STYLES = {"user": "green", "assistant": "cyan", "tool": "yellow", "system": "magenta"}
_ROLE_WIDTH = len("assistant")
_KINDS = {
    SESSION_CHANGE_KIND_CREATED: ("created", "bold green"),
    SESSION_CHANGE_KIND_UPDATED: ("updated", "bold"),
    SESSION_CHANGE_KIND_EXPIRED: ("expired", "bold red"),
    SESSION_CHANGE_KIND_DELETED: ("deleted", "bold red"),
    SESSION_CHANGE_KIND_MOVED_OUT: ("moved out", "bold red"),
    SESSION_CHANGE_KIND_MOVED_IN: ("moved in", "bold green"),
}
_UNKNOWN = ("changed", "bold")
_REMOVALS = {
    REMOVAL_KIND_POPPED: "popped",
    REMOVAL_KIND_CLEARED: "cleared",
    REMOVAL_KIND_ERASED: "erased",
    REMOVAL_KIND_REPLACED: "replaced",
}
_MOST_SEQS = 10
"""Seqs of a removal in a line."""
_TEXT = 160
"""Characters of a text without a terminal."""
_LEAST = 20
"""Minimum columns of a text; with fewer, the counters are omitted."""


class ChangeLines:
    """Writes changes as lines, without buffering. `app`, `user` and `session`: whether lines contain it."""

    def __init__(self, screen: Console, *, app: bool, user: bool, session: bool) -> None:
        self._screen = screen
        self._named_by = (app, user, session)

    def show(self, change: Change) -> None:
        """Prints one change."""
        kind = change.WhichOneof("kind")
        head = self._head(change.session, change.change_time)
        if kind == "batch":
            self._batch(change)
            if change.batch.HasField("state"):
                self._print(head, state_line(change.batch.state, owned=False))
        elif kind == "compaction":
            self._print(head, _compacted(change.compaction.compaction))
            for event in change.compaction.inserted:
                self._event(change.session, event)
        elif kind == "removal":
            self._print(head, _removed(change.removal))
            for event in change.removal.inserted:
                self._event(change.session, event)
        elif kind == "state":
            self._print(head, state_line(change.state, owned=True))
        elif kind == "session_change":
            self._print(head, _happened(change.session_change))

    def _batch(self, change: Change) -> None:
        """Prints the events of an append. There may be none, if the filter leaves all of them out."""
        for number, event in enumerate(change.batch.events, 1):
            last = number == len(change.batch.events) and change.HasField("versions")
            self._event(change.session, event, change.versions.window if last else None)

    def _event(self, ref: SessionRef, event: SessionEvent, window: WindowCounters | None = None) -> None:
        """Prints one event, with the counters of the window if they are known."""
        role = role_of(event)
        head = self._head(ref, event.record_time)
        head.append(f"#{event.seq}  ", "dim")
        head.append(f"{role:{_ROLE_WIDTH}}  ", _ROLE_STYLES.get(role, ""))
        if event.author:
            head.append(f"{excerpt(event.author).plain}: ", f"bold {_ROLE_STYLES.get(role, '')}")
        self._print(head, summary_of(event), _counters(window) if window is not None else "")

    def _head(self, ref: SessionRef, time: Timestamp) -> Text:
        head = Text.assemble((shown_time(time), "dim"), "  ")
        names = (ref.app, ref.user_id, ref.session_id)
        shown = [name for name, wanted in zip(names, self._named_by, strict=True) if name and wanted]
        if shown:
            head.append("/".join(excerpt(name).plain for name in shown), "blue").append("  ")
        return head

    def _print(self, head: Text, said: Text | str, tail: str = "") -> None:
        """Prints one line; its text is cut to fit a terminal."""
        end = Text(f"  {tail}" if tail else "", "dim")
        width = _TEXT
        if self._screen.is_terminal:
            width = self._screen.width - head.cell_len - end.cell_len
            if width < _LEAST:
                width, end = self._screen.width - head.cell_len, Text()
        line = excerpt(said, width=max(width, 1)) if isinstance(said, str) else said.copy()
        line.truncate(max(width, 1), overflow="ellipsis")
        self._screen.print(head + line + end, no_wrap=True, overflow="ellipsis", crop=self._screen.is_terminal)
        self._screen.file.flush()


def change_json(change: Change) -> dict[str, Any]:
    """Returns a change for programs: the fields of Change, with events in the common form."""
    found = as_json(change)
    if change.HasField("session"):
        found["session"] = ref_json(change.session)
    if change.HasField("batch"):
        found["batch"] = {"events": [event_json(event) for event in change.batch.events]}
        if change.batch.HasField("state"):
            found["batch"]["state"] = state_change_json(change.batch.state)
    if change.HasField("state"):
        found["state"] = state_change_json(change.state)
    if change.HasField("compaction") and change.compaction.inserted:
        found["compaction"]["inserted"] = [event_json(event) for event in change.compaction.inserted]
    if change.HasField("removal"):
        found["removal"]["kind"] = _REMOVALS.get(change.removal.kind, _UNKNOWN[0])
        if change.removal.inserted:
            found["removal"]["inserted"] = [event_json(event) for event in change.removal.inserted]
    if change.HasField("session_change"):
        found["session_change"]["kind"] = _KINDS.get(change.session_change.kind, _UNKNOWN)[0]
    if change.HasField("versions"):
        versions = change.versions
        found["versions"] = {name: getattr(versions, name) for name in ("log_version", "window_version", "last_seq")}
        found["versions"]["window"] = window_json(versions.window)
    return found


def in_brief(change: Change) -> str:
    """Returns a short description: "seq 5 to 7", "compaction", "deleted", "popped", "state"."""
    kind = change.WhichOneof("kind")
    if kind == "batch":
        seqs = [event.seq for event in change.batch.events]
        if not seqs:
            return "events that are gone"
        return f"seq {seqs[0]:,}" if len(seqs) == 1 else f"seq {seqs[0]:,} to {seqs[-1]:,}"
    if kind == "session_change":
        return _KINDS.get(change.session_change.kind, _UNKNOWN)[0]
    if kind == "removal":
        return _REMOVALS.get(change.removal.kind, _UNKNOWN[0])
    return kind if kind in ("compaction", "state") else ""


def _compacted(done: Compaction) -> Text:
    arrow = "→" if utf8() else "->"
    turns = f"{done.before.turns:,} {arrow} {done.after.turns:,} turns"
    tokens = f"~{done.before.tokens:,} {arrow} {done.after.tokens:,} tokens"
    by = ", ".join(excerpt(each).plain for each in (done.strategy, done.actor) if each)
    archived = f"{counted(done.archived_events, 'event')} archived"
    return Text.assemble(("compacted", "bold yellow"), f"  {turns}, {tokens}, {archived}", (f"  {by}" if by else "", "dim"))


def _removed(notice: RemovalNotice) -> Text:
    """What left, by seqs: of a clear up to which."""
    name, style = _REMOVALS.get(notice.kind, _UNKNOWN[0]), "bold yellow"
    seqs = ", ".join(f"#{seq}" for seq in notice.seqs[:_MOST_SEQS])
    if len(notice.seqs) > _MOST_SEQS:
        seqs += ", …" if utf8() else ", ..."
    if notice.kind == REMOVAL_KIND_CLEARED:
        seqs = f"up to #{notice.through_seq}"
    how = ", erased" if notice.erased and notice.kind != REMOVAL_KIND_ERASED else ""
    return Text.assemble((name, style), f"  {counted(notice.removed, 'event')}{how}", (f"  {seqs}" if seqs else "", "dim"))


def _happened(change: SessionChange) -> Text:
    name, style = _KINDS.get(change.kind, _UNKNOWN)
    labels = "  ".join(f"{key}={value}" for key, value in sorted(change.session.labels.items()))
    return Text.assemble((name, style), (f"  {excerpt(labels).plain}" if labels else "", "dim"))


def _counters(window: WindowCounters) -> str:
    """Returns a short description of the window, for the end of a line."""
    return f"{counted(window.turns, 'turn')}, ~{counted(window.tokens, 'token')}"
