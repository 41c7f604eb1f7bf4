"""The messages of a graph's state as events of the conversation, and events as messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage, message_to_dict, messages_from_dict

from ...formats import langchain
from ...formats.langgraph import Record, message_event_id
from ...v1.event_pb2 import SessionEvent
from .._versions import of_any_version
from ._known import Recent

MARK = "threadkeep_event_id"
"""The key in `response_metadata` of a message that was read from the event of another writer: it is stored already."""
_OWN = "checkpoint_id"
_MOST_THREADS = 256


@dataclass(frozen=True, slots=True)
class Changed:
    """Messages to store: those that are new, and those whose content changed."""

    added: Sequence[SessionEvent] = ()
    edited: Sequence[SessionEvent] = ()
    messages: Sequence[BaseMessage] = field(default=())


class Stored:
    """Which messages of the threads are stored. What it does not know is sent again, and ignored by the server."""

    def __init__(self) -> None:
        self._stored: Recent[dict[str, BaseMessage]] = Recent(_MOST_THREADS)

    def changed(
        self, thread_id: str, messages: Sequence[BaseMessage], *, run_id: str = "", about: Mapping[str, Any] | None = None
    ) -> Changed:
        """The messages that are to be stored, as events with these metadata."""
        known = self._stored.get(thread_id, {})
        added: list[SessionEvent] = []
        edited: list[SessionEvent] = []
        for key, message in keyed(messages).items():
            before = known.get(key)
            if MARK in message.response_metadata or before is message or before == message:
                continue
            event = event_of(message, key, invocation_id=run_id, about=about)
            (added if before is None else edited).append(event)
        return Changed(added, edited, messages)

    def store(self, thread_id: str, messages: Iterable[BaseMessage]) -> None:
        """Notes that messages of a thread are stored."""
        self._stored.update(thread_id, {}, lambda known: known | keyed(messages))

    def forget(self, thread_id: str) -> None:
        """Forgets a thread that was deleted."""
        self._stored.pop(thread_id, {})


class Conversation(Stored):
    """The messages in the checkpoints of root graphs. Those of a subgraph reach the state of its parent."""

    def __init__(self, channel: str | None) -> None:
        """`channel`: the channel with the messages; None: messages are not stored as events."""
        super().__init__()
        self._channel = channel
        self._written: Recent[dict[tuple[str, str, int], Any]] = Recent()

    def in_checkpoint(self, thread_id: str, checkpoint: Mapping[str, Any], record: Record) -> Changed:
        """The messages of a checkpoint that are to be stored with it."""
        if self._channel is None or record.namespace:
            return Changed()
        written = self._written.pop((thread_id, record.parent_id), {})
        if self._channel in checkpoint["channel_values"]:
            messages = self.in_state(checkpoint)
        else:  # a delta channel, whose checkpoints have no value: the writes of the parent made it
            messages = [message for _, value in sorted(written.items()) for message in _messages(value)]
        return self.changed(thread_id, messages, run_id=record.run_id, about={_OWN: record.checkpoint_id})

    def read(self, thread_id: str, checkpoint: Mapping[str, Any]) -> None:
        """Notes that the messages of a checkpoint that was read are stored."""
        if self._channel is not None:
            self.store(thread_id, self.in_state(checkpoint))

    def wrote(self, thread_id: str, checkpoint_id: str, order: tuple[str, str, int], channel: str, value: Any) -> None:
        """Notes a write to a checkpoint, which may be all that its child is made of."""
        if channel == self._channel:
            self._written.update((thread_id, checkpoint_id), {}, lambda written: {**written, order: value})

    def in_state(self, checkpoint: Mapping[str, Any]) -> list[BaseMessage]:
        """The messages of a checkpoint."""
        return _messages(checkpoint["channel_values"].get(self._channel))


def keyed(messages: Iterable[BaseMessage]) -> dict[str, BaseMessage]:
    """Messages by the ids of their events."""
    found: dict[str, BaseMessage] = {}
    for message in messages:
        found[message_event_id(message.id or "", partial(message_to_dict, message), found)] = message
    return found


def event_of(
    message: BaseMessage, event_id: str, *, invocation_id: str = "", about: Mapping[str, Any] | None = None
) -> SessionEvent:
    """The event of a message. `about`: its metadata."""
    event = langchain.event_of(message_to_dict(message), event_id, invocation_id=invocation_id)
    if about:
        event.metadata_json = json.dumps(about)
    return event


def is_own(event: SessionEvent) -> bool:
    """Whether a saver stored the event, from a message of a graph's state."""
    if event.native.format != langchain.NATIVE or not event.metadata_json:
        return False
    about = json.loads(event.metadata_json)
    return isinstance(about, dict) and _OWN in about


def messages_of(event: SessionEvent) -> list[AnyMessage]:
    """The messages of an event, marked so that no saver stores them again."""
    found = of_any_version(messages_from_dict, langchain.items_of(event), lambda: langchain.rendered(event))
    for message in found:
        message.response_metadata = {**message.response_metadata, MARK: event.event_id}
    return cast("list[AnyMessage]", found)


def _messages(value: Any) -> list[BaseMessage]:
    """The messages in a value or a write of the channel; a snapshot and an overwrite have theirs in `value`."""
    inner = getattr(value, "value", value)
    items = inner if isinstance(inner, list | tuple) else [inner]
    return [each for each in items if isinstance(each, BaseMessage) and not isinstance(each, RemoveMessage)]
