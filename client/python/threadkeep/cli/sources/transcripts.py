"""Transcripts of Claude Code, as it writes them below ~/.claude/projects: a folder per project, a file per session."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

from ...formats.claude_transcript import branch_of, event_id_of, event_of
from ...formats.openai import shown
from ..formats import EventItem, Item, Malformed, Origin, ReadOptions
from ..formats.items import FieldError
from ..formats.records import Record, RecordReader
from .database import json_object

FORMAT = "claude"
_PROBE = 64 * 1024
_MARKS = ("sessionId", "leafUuid", "parentUuid", "snapshot")
"""Keys of which the first line of a transcript has one."""
_MOST_ANSWERS = 100
_SUBAGENTS = "subagents"


def is_transcript(path: Path) -> bool:
    """Whether a file is a transcript, by its name and its first line."""
    if path.suffix != ".jsonl":
        return False
    with path.open("rb") as file:
        first = file.readline(_PROBE)
    try:
        value = json.loads(first)
    except ValueError:
        return False
    return isinstance(value, dict) and "type" in value and any(key in value for key in _MARKS)


class TranscriptInput:
    """A transcript with those of its subagents; those of a project; or those of all projects in a folder."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self._path = path
        self._options = options
        self._files = sorted(_mains(path))
        self._done = 0
        self._reader: RecordReader | None = None
        self.size = sum(file.stat().st_size for main in self._files for file in (main, *_subagents(main)) if file.exists())

    @property
    def share(self) -> float:
        read = self._done + (self._reader.bytes_read if self._reader else 0)
        return min(read / self.size, 1.0) if self.size else 0.0

    def __iter__(self) -> Iterator[Item]:
        if not self._files:
            yield Malformed(Origin(str(self._path), 0), "", "it contains no transcript (*.jsonl)", fatal=True, unrelated=True)
        for main in self._files:
            yield from self._session(main)

    def _session(self, main: Path) -> Iterator[Item]:
        """A session: the main transcript, then each subagent's, on a branch of its own."""
        project = main.resolve().parent.name
        yield self._options.start(Origin(str(main), 1), self._options.prefix + main.stem, app=project)
        if main.exists():
            yield from self._events(main, "")
        for path in _subagents(main):
            subpath = path.relative_to(main.with_suffix("")).with_suffix("").as_posix()
            yield from self._events(path, branch_of(subpath))
            yield from _sidecar(path, branch_of(subpath))

    def _events(self, path: Path, branch: str) -> Iterator[Item]:
        with path.open("rb") as stream:
            self._reader = RecordReader(stream, str(path))
            yield from _lines(self._reader, branch)
            self._done += self._reader.bytes_read
            self._reader = None


def _mains(path: Path) -> Iterator[Path]:
    """The main transcripts; also of sessions that have only those of subagents."""
    if path.is_file():
        yield path
        return
    if (path / "projects").is_dir():
        path /= "projects"
    own = {*path.glob("*.jsonl"), *(folder.parent.with_suffix(".jsonl") for folder in path.glob(f"*/{_SUBAGENTS}"))}
    yield from own or {
        *path.glob("*/*.jsonl"),
        *(folder.parent.with_suffix(".jsonl") for folder in path.glob(f"*/*/{_SUBAGENTS}")),
    }


def _subagents(main: Path) -> list[Path]:
    return sorted((main.with_suffix("") / _SUBAGENTS).rglob("*.jsonl"))


def _lines(records: RecordReader, branch: str) -> Iterator[Item]:
    """The events of lines. Each line of an answer of the model repeats its usage: the last one in a row has it."""
    counted: OrderedDict[str, None] = OrderedDict()
    held: Record | None = None
    for record in records:
        if isinstance(record, Record) and held is not None and _answer(held.value) == _answer(record.value) != "":
            yield _event(held, branch, counted=False)
        elif held is not None:
            yield _event(held, branch, counted=_first(_answer(held.value), counted))
        held = record if isinstance(record, Record) else None
        if isinstance(record, Malformed):
            yield record
    if held is not None:
        yield _event(held, branch, counted=_first(_answer(held.value), counted))


def _first(answer: str, counted: OrderedDict[str, None]) -> bool:
    """Whether the usage of an answer is not counted yet; of those that were met last."""
    if not answer:
        return True
    if answer in counted:
        return False
    counted[answer] = None
    if len(counted) > _MOST_ANSWERS:
        counted.popitem(last=False)
    return True


def _answer(line: object) -> str:
    """The id of the model's answer that a line is of; empty for another line."""
    message = line.get("message") if isinstance(line, dict) and line.get("type") == "assistant" else None
    found = message.get("id") if isinstance(message, dict) else None
    return found if isinstance(found, str) else ""


def _event(record: Record, branch: str, *, counted: bool) -> Item:
    line = record.value
    if not isinstance(line, dict):
        return Malformed(record.origin, "", f"a line is an object; it is {shown(line)}")
    event_id = event_id_of(line, branch) or "/".join(filter(None, (branch, f"line-{record.origin.line}")))
    return EventItem(record.origin, event_of(line, event_id, branch=branch, counted=counted), if_exists="ignore")


def _sidecar(transcript: Path, branch: str) -> Iterator[Item]:
    """What Claude Code keeps of a subagent next to its transcript, as the entry that its SDK makes of it."""
    path = transcript.with_suffix(".meta.json")
    if not path.is_file():
        return
    content = path.read_bytes()
    origin = Origin(str(path), 1)
    try:
        about = json_object(content, "")
    except FieldError as error:
        yield Malformed(origin, "", error.problem)
        return
    event_id = f"{branch}/agent_metadata-{hashlib.sha256(content).hexdigest()[:16]}"
    yield EventItem(origin, event_of({**about, "type": "agent_metadata"}, event_id, branch=branch), if_exists="ignore")
