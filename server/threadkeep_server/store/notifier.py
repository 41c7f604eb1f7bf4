"""Calls listeners after commits."""

from __future__ import annotations

from collections.abc import Callable

from .contract.events import Appended, AppendListener, AppendRequest


class CommitNotifier:
    """Listeners of one store. `announce` is called after each commit of this server, to notify other servers."""

    def __init__(self, announce: Callable[[], None] | None = None) -> None:
        self._announce = announce
        self._listeners: list[Callable[[], None]] = []
        self._append_listeners: list[AppendListener] = []

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Adds a listener for commits of any server; see FeedStore.on_change."""
        self._listeners.append(listener)

    def subscribe_appends(self, listener: AppendListener) -> None:
        """Adds a listener for the appends of this server; see EventStore.on_append."""
        self._append_listeners.append(listener)

    def appended(self, request: AppendRequest, result: Appended) -> None:
        """Calls the append listeners."""
        for listener in self._append_listeners:
            listener(request, result)

    def committed(self) -> None:
        """Reports a commit of this server."""
        if self._announce is not None:
            self._announce()
        self.notify()

    def notify(self) -> None:
        """Reports that this or another server may have committed."""
        for listener in self._listeners:
            listener()
