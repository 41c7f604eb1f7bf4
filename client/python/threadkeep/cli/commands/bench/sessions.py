"""The sessions of a run: created before it, counted and deleted after it."""

from __future__ import annotations

import time
from datetime import timedelta

from .... import AsyncClient
from ....errors import ThreadkeepError
from ....v1.session_pb2 import SessionRef
from .measured import Measured
from .plan import Plan
from .together import each

_KEPT_AFTER = timedelta(hours=1)
"""Sessions of a run that was killed expire so long after its planned end."""


async def create(client: AsyncClient, plan: Plan, measured: Measured, *, keep: bool) -> None:
    """Creates the sessions. Raises the first error."""
    ttl = None if keep else timedelta(seconds=plan.seconds + plan.settle) + _KEPT_AFTER

    async def one(ref: SessionRef) -> None:
        began = time.perf_counter()
        await client.create_session(ref, labels=plan.labels, ttl=ttl)
        measured.add("create", time.perf_counter() - began)

    await each(plan.refs, one)


async def last_seqs(client: AsyncClient, plan: Plan) -> dict[str, int]:
    """Returns, by session of the run, the last seq that the server has."""
    pages = client.sessions(user_id=plan.user, app=plan.app, labels=plan.labels, page_size=1000)
    return {session.ref.session_id: session.last_seq async for session in pages}


async def delete(client: AsyncClient, plan: Plan, measured: Measured) -> int:
    """Deletes the sessions that exist; returns how many remain because a call failed."""
    failed = 0

    async def one(ref: SessionRef) -> None:
        nonlocal failed
        if failed:  # each further call would take its whole time to fail
            failed += 1
            return
        began = time.perf_counter()
        try:
            await client.delete_session(ref)
        except ThreadkeepError as error:
            failed += 1
            measured.fail("delete", error)
        else:
            measured.add("delete", time.perf_counter() - began)

    await each(plan.refs, one)
    return failed
