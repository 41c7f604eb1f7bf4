"""Erasures, and the users who have data to erase: part of the Store contract."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ...domain.erasure import Erased, Erasure, ErasureScope
from .compaction import PolicyScope

RECEIPTS_KEPT_NS = 30 * 86_400 * 1_000_000_000
"""Time for which the result of an erasure is returned again."""

REQUEST_ID_USED = "was used by a request with another scope; use another id"

MOST_USERS = 100
"""Users of one page."""


class UserName(NamedTuple):
    """A user of an app; the app may be empty."""

    app: str
    user_id: str


@dataclass(frozen=True, slots=True)
class UserPage:
    """`cursor`: the last user, if more remain."""

    users: Sequence[UserName]
    cursor: UserName | None = None


LastStep = Callable[[int], Awaitable[bool]]
"""A last step of an erasure, which began at a time. Returns False if more of it is left."""


def erased_policies(scope: ErasureScope) -> Collection[PolicyScope]:
    """Returns the levels of the policies that go with the user or the app of the scope, where they name it."""
    if scope.labels:
        return ()
    if scope.user_id is None:
        return (PolicyScope.USER_OF_APP, PolicyScope.APP)
    return (PolicyScope.USER_OF_APP,) if scope.app is not None else (PolicyScope.USER_OF_APP, PolicyScope.USER)


class ErasureStore(Protocol):
    """Deletes everything of a scope, and reports it."""

    async def erase(self, wanted: Erasure, seconds: float, last: LastStep | None = None) -> Erased:
        """Deletes the sessions of the scope that exist when the erasure begins, and, if wanted, the memories that exist when
        these are deleted; then the compaction policies of the user or the app, and, of a whole user, the consumers. Each
        session is deleted as by `delete_session`, and the feed reports it so. Of its parked changes those stay that hold no
        data of a session.

        Works in parts, between which others write, and returns after about so many seconds if more is left. A call that is
        repeated with its request id and scope continues what an earlier one left; afterwards it returns the same result for
        RECEIPTS_KEPT_NS. `last`: what is to be done before the erasure ends; it does not end while that raises or returns
        False. Without a request id the scope identifies the request until it is complete. Raises InvalidField for
        the id of a request with another scope.
        """
        ...


class UserStore(Protocol):
    """Lists users."""

    async def list_users(self, tenant: str, app: str | None, limit: int, after: UserName | None = None) -> UserPage:
        """Returns the users of an app (None: of all) that have sessions, memories or state, each once: app by app, in an order
        that the store keeps, those after a user. The cost of a page grows with its users, not with what they have."""
        ...
