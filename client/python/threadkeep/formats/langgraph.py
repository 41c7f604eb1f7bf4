"""Checkpoints and writes of LangGraph as events, and the ids of a conversation's messages. Needs no LangGraph.

A checkpoint is one event, and so is each write of a task. They are on branches of their own, one for each checkpoint namespace,
and have no parts: readers of the conversation find nothing in them. The native content is a line of JSON and, behind it, the
bytes that the saver's serializer wrote.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from ..v1.event_pb2 import NativeContent, SessionEvent
from ..v1.message_pb2 import ROLE_ASSISTANT, ChatMessage
from .openai import clean

CHECKPOINT = "langgraph.checkpoint.py/1"
WRITE = "langgraph.write.py/1"
AUTHOR = "langgraph.checkpoints"
"""The author of their events; readers of the conversation can leave it out."""
ROOT = "langgraph"
"""The branch of the checkpoints of the root graph. Those of subgraphs are on branches below it."""
Typed = tuple[str, bytes]
"""A value as a serializer writes it: the name of its encoding, and its bytes."""
_MESSAGE_ID_BYTES = 200


@dataclass(frozen=True, slots=True)
class Write:
    """A write of a task. `index`: its place among the task's writes; negative for special ones, which are replaced."""

    namespace: str
    checkpoint_id: str
    task_id: str
    task_path: str
    index: int
    channel: str
    value: Typed

    @property
    def order(self) -> tuple[str, str, int]:
        """The order in which a step's writes apply."""
        return (self.task_path, self.task_id, self.index)


@dataclass(frozen=True, slots=True)
class Record:
    """A checkpoint. `floor`: all events of its writes have a greater seq. `writes`: in the order in which they apply."""

    namespace: str
    checkpoint_id: str
    parent_id: str | None
    run_id: str
    checkpoint: Typed
    metadata: Typed
    floor: int = 0
    thread_id: str = ""
    writes: Sequence[Write] = field(default=())

    def read_from(self, thread_id: str, writes: Sequence[Write]) -> Record:
        """The record with the thread and the writes that were read."""
        return replace(self, thread_id=thread_id, writes=sorted(writes, key=lambda write: write.order))


def branch_of(namespace: str) -> str:
    """The branch of a checkpoint namespace such as "child:1|grandchild:2". Namespaces have branches of their own."""
    return ".".join([ROOT, *(_segment(part) for part in namespace.split("|"))]) if namespace else ROOT


def checkpoint_event_id(namespace: str, checkpoint_id: str) -> str:
    """The id of a checkpoint's event. A session has it once, so a repeated put stores nothing twice."""
    return _event_id("checkpoint", namespace, checkpoint_id)


def write_event_id(write: Write) -> str:
    """The id of a write's event."""
    return _event_id("write", write.namespace, write.checkpoint_id, write.task_id, str(write.index))


def message_event_id(given: str, item: Callable[[], Mapping[str, Any]], met: Container[str]) -> str:
    """The id of a message's event: the message's own id, or, without one that the server takes, a digest of its content; with a
    number if it is among `met`. `item`: the message as a dict, called if it is needed."""
    if given and len(given.encode("utf-8", "replace")) <= _MESSAGE_ID_BYTES and given.isprintable():
        key = given
    else:
        content = json.dumps(item(), sort_keys=True, default=repr)
        key = f"langchain:{hashlib.sha256(content.encode()).hexdigest()}"
    found, numbers = key, count(2)
    while found in met:
        found = f"{key}#{next(numbers)}"
    return found


def event_of_checkpoint(record: Record, about: dict[str, Any]) -> SessionEvent:
    """The event of a checkpoint. `about`: metadata for people and filters."""
    header = {"id": record.checkpoint_id, "ns": record.namespace, "parent": record.parent_id, "floor": record.floor}
    return SessionEvent(
        event_id=checkpoint_event_id(record.namespace, record.checkpoint_id),
        message=ChatMessage(role=ROLE_ASSISTANT),
        author=AUTHOR,
        branch=branch_of(record.namespace),
        invocation_id=record.run_id,
        native=_native(CHECKPOINT, header | {"run": record.run_id}, record.checkpoint, record.metadata),
        metadata_json=json.dumps({"checkpoint_id": record.checkpoint_id, **about}),
    )


def event_of_write(write: Write) -> SessionEvent:
    """The event of a write."""
    header = {"checkpoint": write.checkpoint_id, "ns": write.namespace, "task": write.task_id, "path": write.task_path}
    return SessionEvent(
        event_id=write_event_id(write),
        message=ChatMessage(role=ROLE_ASSISTANT),
        author=AUTHOR,
        branch=branch_of(write.namespace),
        native=_native(WRITE, header | {"index": write.index, "channel": write.channel}, write.value),
        metadata_json=json.dumps({"checkpoint_id": write.checkpoint_id, "channel": write.channel}),
    )


def checkpoint_of(event: SessionEvent) -> Record | None:
    """The checkpoint of an event; None if it is none, or erased."""
    if event.native.format != CHECKPOINT:
        return None
    header, (checkpoint, metadata) = _parsed(event)
    return Record(
        namespace=header["ns"],
        checkpoint_id=header["id"],
        parent_id=header["parent"],
        run_id=header["run"],
        checkpoint=checkpoint,
        metadata=metadata,
        floor=header["floor"],
    )


def write_of(event: SessionEvent) -> Write | None:
    """The write of an event; None if it is none, or erased."""
    if event.native.format != WRITE:
        return None
    header, (value,) = _parsed(event)
    return Write(
        namespace=header["ns"],
        checkpoint_id=header["checkpoint"],
        task_id=header["task"],
        task_path=header["path"],
        index=header["index"],
        channel=header["channel"],
        value=value,
    )


def _native(form: str, header: dict[str, Any], *values: Typed) -> NativeContent:
    about = json.dumps(header | {"values": [[encoding, len(content)] for encoding, content in values]}).encode()
    return NativeContent(format=form, content=b"\n".join([about, b"".join(content for _, content in values)]))


def _parsed(event: SessionEvent) -> tuple[dict[str, Any], list[Typed]]:
    about, _, content = event.native.content.partition(b"\n")
    header: dict[str, Any] = json.loads(about)
    values: list[Typed] = []
    start = 0
    for encoding, size in header["values"]:
        values.append((encoding, content[start : start + size]))
        start += size
    return header, values


def _segment(part: str) -> str:
    """A segment of a branch: without dots, percent signs and control characters, and not empty."""
    kept = (char if char not in ".%" and char.isprintable() else f"%{ord(char):x}%" for char in clean(part))
    return "".join(kept) or "%"


def _event_id(*names: str) -> str:
    """An id within the limits of the server, which names may exceed. No two lists of names have the same."""
    plain = ":".join([ROOT, *names])
    if len(plain) <= 200 and plain.count(":") == len(names) and plain.isascii() and plain.isprintable():
        return plain
    return f"{ROOT}:{names[0]}:{hashlib.sha256(json.dumps(names).encode()).hexdigest()}"
