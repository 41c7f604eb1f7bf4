"""What a saver remembers between its calls, and the writes that it collects in one."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, TypeVar

from ...formats.langgraph import Record, Write, write_of
from ...v1.event_pb2 import SessionEvent

Value = TypeVar("Value")
_MOST_REMEMBERED = 4096


class Recent(Generic[Value]):
    """Values of the keys that were set last. Threads may share it."""

    def __init__(self, most: int = _MOST_REMEMBERED) -> None:
        self._values: OrderedDict[Any, Value] = OrderedDict()
        self._most = most
        self._lock = Lock()

    def get(self, key: Any, default: Value) -> Value:
        """The value of a key."""
        return self._values.get(key, default)

    def put(self, key: Any, value: Value) -> None:
        """Sets a value; the one that was set longest ago may be forgotten."""
        self.update(key, value, lambda _: value)

    def update(self, key: Any, default: Value, change: Callable[[Value], Value]) -> None:
        """Sets a value to what a function makes of the one before it, by default of `default`."""
        with self._lock:
            self._values[key] = change(self._values.get(key, default))
            self._values.move_to_end(key)
            if len(self._values) > self._most:
                self._values.popitem(last=False)

    def pop(self, key: Any, default: Value) -> Value:
        """Removes a key and returns its value."""
        with self._lock:
            return self._values.pop(key, default)


class Seqs:
    """What is known of the logs of threads: the last seq, and where a checkpoint's writes begin.

    LangGraph stores a checkpoint and its writes at the same time, so a write may be stored first. A checkpoint therefore says
    which seq all its writes exceed: the last one that was known before any of them was sent.
    """

    def __init__(self) -> None:
        self._last: Recent[int] = Recent()
        self._floors: Recent[int] = Recent()

    def saw(self, thread_id: str, seq: int) -> None:
        """Notes the last seq of a log, as a response has it. A lower one than the real one does no harm."""
        self._last.put(thread_id, seq)

    def writing(self, thread_id: str, checkpoint_id: str) -> None:
        """Notes that writes of a checkpoint are sent, before they are."""
        self._floors.update((thread_id, checkpoint_id), self._last.get(thread_id, 0), lambda floor: floor)

    def floor(self, thread_id: str, checkpoint_id: str) -> int:
        """The floor of a checkpoint that is sent now."""
        return self._floors.pop((thread_id, checkpoint_id), self._last.get(thread_id, 0))


class Writes:
    """Writes that were read, by their checkpoints. Of the versions of a replaced write the newest one counts."""

    def __init__(self) -> None:
        self._found: defaultdict[tuple[str, str], dict[str, tuple[int, Write]]] = defaultdict(dict)

    def add(self, event: SessionEvent) -> None:
        """Adds the write of an event; events of other kinds are ignored."""
        write = write_of(event)
        if write is None:
            return
        writes = self._found[write.namespace, write.checkpoint_id]
        if event.event_id not in writes or writes[event.event_id][0] < event.seq:
            writes[event.event_id] = (event.seq, write)

    def take(self, record: Record) -> list[Write]:
        """The writes of a checkpoint."""
        return [write for _, write in self._found.pop((record.namespace, record.checkpoint_id), {}).values()]
