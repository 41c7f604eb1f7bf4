"""Finds the channels of a change without looking at all channels."""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.feed import Change, ChangeKind, FeedScope
from ...domain.model import SessionRef
from .channel import Channel

_Name = tuple[str, str | None, str | None] | tuple[str, SessionRef]


def _name(scope: FeedScope) -> _Name:
    return (scope.tenant, scope.app, scope.user_id) if scope.ref is None else (scope.tenant, scope.ref)


class SubscriptionRegistry:
    """Channels by key and by scope."""

    def __init__(self) -> None:
        self._by_key: dict[str, Channel] = {}
        self._by_name: dict[_Name, list[Channel]] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[Channel]:
        return iter(self._by_key.values())

    def get(self, key: str) -> Channel | None:
        return self._by_key.get(key)

    def add(self, channel: Channel) -> None:
        self._by_key[channel.key] = channel
        self._by_name.setdefault(_name(channel.scope), []).append(channel)

    def remove(self, channel: Channel) -> None:
        del self._by_key[channel.key]
        name = _name(channel.scope)
        self._by_name[name].remove(channel)
        if not self._by_name[name]:
            del self._by_name[name]

    def interested(self, change: Change) -> list[Channel]:
        """Returns the channels whose scope includes the change. Looks up five scopes, however many channels there are."""
        tenant, ref = change.tenant, change.ref
        names: tuple[_Name, ...] = (
            (tenant, ref),
            (tenant, ref.app, ref.user_id),
            (tenant, None, ref.user_id),
            (tenant, ref.app, None),
            (tenant, None, None),
        )
        if change.kind is ChangeKind.COPIED:
            names = names[:1]
        elif change.former:
            names = names[3:]
        found = [channel for name in names for channel in self._by_name.get(name, ())]
        return [channel for channel in found if not channel.scope.labels or channel.scope.matches_labels(change)]
