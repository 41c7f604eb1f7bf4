"""Finds the sessions that policies select."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from ...domain.model import Session
from ...domain.retention.policies import ANY_VALUE, RetentionPolicy, policy_for
from ...domain.retention.receipts import RunPlace
from ...store.contract.sessions import SessionOrder, SessionQuery, SessionStore


async def candidates(
    store: SessionStore, policies: Sequence[RetentionPolicy], tenant: str, since: RunPlace, page_size: int
) -> AsyncIterator[tuple[RetentionPolicy, Session, RunPlace]]:
    """Yields the sessions of a tenant that leave at the time of a place, each with the policy that selects it and the place
    before it: first those after the place, by the first policy that has not been passed."""
    passed = bool(since.policy)
    for policy in policies:
        passed = passed and policy.name != since.policy
        if passed or not policy.concerns(tenant):
            continue
        cursor = since.cursor if policy.name == since.policy else None
        query = replace(_query(policy, since.now, page_size), cursor=cursor)
        while True:
            page = await store.list_sessions(tenant, query)
            for session, following in zip(page.sessions, page.places, strict=True):
                if policy_for(policies, tenant, session, since.now) is policy:
                    yield policy, session, RunPlace(since.now, policy.name, cursor)
                cursor = following
            last = page.sessions[-1] if page.sessions else None
            if page.cursor is None or last is None or _too_young(policy, last, since.now):
                break
            query = replace(query, cursor=page.cursor)


def _too_young(policy: RetentionPolicy, last: Session, now: int) -> bool:
    """Reports whether all sessions after one are, in a list of the oldest first."""
    return policy.idle is None and policy.age is not None and now - last.create_time < policy.age


def _query(policy: RetentionPolicy, now: int, limit: int) -> SessionQuery:
    """Returns a list of at least the sessions that the policy selects, the longest unchanged or the oldest first."""
    exact = {name: value for name, value in policy.labels.items() if value != ANY_VALUE}
    app, user = (next(iter(each)) if len(each) == 1 else None for each in (policy.apps, policy.users))
    if policy.idle is None:
        return SessionQuery(app, user, exact, limit, order=SessionOrder.CREATED_FIRST)
    # Exclusive, and a session that reached it just now is one as well.
    until = max(now - policy.idle + 1, 0)
    return SessionQuery(app, user, exact, limit, order=SessionOrder.UPDATED_FIRST, updated_before=until)
