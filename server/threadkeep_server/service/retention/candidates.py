"""Finds the sessions that policies select."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from ...domain.model import Session
from ...domain.retention.policies import ANY_VALUE, RetentionPolicy, policy_for
from ...store.contract.sessions import SessionOrder, SessionQuery, SessionStore

_PAGE = 500


async def candidates(
    store: SessionStore, policies: Sequence[RetentionPolicy], tenant: str, now: int
) -> AsyncIterator[tuple[RetentionPolicy, Session]]:
    """Yields the sessions of a tenant that leave now, each once, with the policy that selects it."""
    seen: set[str] = set()
    for policy in policies:
        if not policy.concerns(tenant):
            continue
        query = _query(policy, now)
        while True:
            page = await store.list_sessions(tenant, query)
            for session in page.sessions:
                first = policy_for(policies, tenant, session, now)
                if first is policy and session.uid not in seen:
                    seen.add(session.uid)
                    yield policy, session
            last = page.sessions[-1] if page.sessions else None
            passed = last is None or (policy.idle is None and policy.age is not None and now - last.create_time < policy.age)
            if page.cursor is None or passed:
                break
            query = replace(query, cursor=page.cursor)


def _query(policy: RetentionPolicy, now: int) -> SessionQuery:
    """Returns a list of at least the sessions that the policy selects, the longest unchanged or the oldest first."""
    exact = {name: value for name, value in policy.labels.items() if value != ANY_VALUE}
    app, user = (next(iter(each)) if len(each) == 1 else None for each in (policy.apps, policy.users))
    if policy.idle is None:
        return SessionQuery(app, user, exact, _PAGE, order=SessionOrder.CREATED_FIRST)
    # Exclusive, and a session that reached it just now is one as well.
    until = max(now - policy.idle + 1, 0)
    return SessionQuery(app, user, exact, _PAGE, order=SessionOrder.UPDATED_FIRST, updated_before=until)
