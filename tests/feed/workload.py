"""A workload: random writers, and live subscribers of every kind. Each guarantee has a test that compares the delivered changes
with the store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

import threadkeep
from threadkeep.v1 import subscription_service_pb2 as su
from threadkeep.v1.compaction_pb2 import Compaction
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.filter_pb2 import EventFilter
from threadkeep.v1.message_pb2 import ROLE_TOOL
from threadkeep.v1.session_pb2 import Session, SessionRef
from threadkeep.v1.subscription_pb2 import Change

from .facts import Fact, Ref, Transcript, transcript
from .streams import EVERYTHING, Stream, Subscriber, View, named, subscriber
from .writing import CURTAIN, MORTAL, NEEDLE, REFS, Ledger, Writer, key_of, labels_of

WRITERS = 4
ACTIONS = 45
SECONDS = 240.0

VIEWS: dict[str, View] = {
    "everything": EVERYTHING,
    "everything with a word": View(su.ChangeScope(), EventFilter(keyword=NEEDLE.upper())),
    "an app, tools only": View(su.ChangeScope(app="shop"), EventFilter(roles=[ROLE_TOOL])),
    "without an app": View(su.ChangeScope(app="")),
    "a user, what an agent said": View(
        su.ChangeScope(user_id="ann"),
        threadkeep.event_filter(authors=threadkeep.Authors.include(["agent"]), exclude_synthetic=True).pb,
    ),
    "a user of an app, a branch": View(su.ChangeScope(user_id="ann", app="shop"), EventFilter(branch="a")),
    "a team": View(su.ChangeScope(labels={"team": "blue"})),
    "a session": View(named("s1")),
    "a session that dies, from its second event": View(named(MORTAL), EventFilter(after_seq=1, before_seq=30)),
}


@dataclass(frozen=True)
class Workload:
    """`received`: the changes of each view's subscriber. `witnesses`: subscribers of everything, on every server. `wanted`: the
    seqs that each view's filter selects in the logs, by ListEvents. `states`: of sessions, and of users and apps by
    names without a session."""

    addresses: Sequence[str]
    ledger: Ledger
    received: dict[str, Transcript]
    witnesses: Sequence[Transcript]
    sessions: Sequence[Session]
    logs: dict[Ref, list[SessionEvent]]
    records: dict[Ref, list[Compaction]]
    wanted: dict[str, dict[Ref, set[int]]]
    states: dict[Ref, threadkeep.State]

    def expected(self, name: str) -> list[Fact]:
        """Returns the facts expected for this view, from the complete feed and ListEvents."""
        view, wanted = VIEWS[name], self.wanted[name]
        kept = (fact.keeping(wanted.get(fact.ref, set())) for fact in self.witnesses[0].lasting if admits(view, fact.ref))
        return [fact for fact in kept if fact is not None]


def admits(view: View, ref: Ref) -> bool:
    if isinstance(view.scope, SessionRef):
        return ref == key_of(view.scope)
    app, user_id, session_id = ref
    labels = labels_of(named(session_id, app=app, user=user_id)) if session_id else {}
    return (
        (not view.scope.HasField("app") or view.scope.app == app)
        and view.scope.user_id in ("", user_id)
        and all(labels.get(key) == value for key, value in view.scope.labels.items())
    )


async def run_workload(addresses: Sequence[str], seed: int) -> Workload:
    """Writers and subscribers are distributed over the servers."""
    ledger = Ledger()
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(threadkeep.AsyncClient(address)) for address in addresses]
        taps = [await stack.enter_async_context(subscriber(address)) for address in addresses]
        followed = [(name, taps[number % len(taps)]) for number, name in enumerate(VIEWS)]
        async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
            ready = asyncio.Barrier(len(taps) + len(followed) + 1)
            witnesses = [group.create_task(_follow(EVERYTHING, tap, ready)) for tap in taps]
            received = {name: group.create_task(_follow(VIEWS[name], tap, ready)) for name, tap in followed}
            await ready.wait()
            await _write(clients, ledger, seed)
        logs = await _logs(clients[0])
        return Workload(
            addresses=addresses,
            ledger=ledger,
            received={name: task.result() for name, task in received.items()},
            witnesses=[task.result() for task in witnesses],
            sessions=[session async for session in clients[0].sessions()],
            logs=logs,
            records={key_of(ref): [each async for each in clients[0].compactions(ref)] for ref in REFS},
            wanted={name: _seqs(await _logs(clients[0], view)) for name, view in VIEWS.items()},
            states=await _states(clients[0]),
        )


async def _write(clients: Sequence[threadkeep.AsyncClient], ledger: Ledger, seed: int) -> None:
    writers = [Writer(clients[n % len(clients)], ledger, seed * 100 + n) for n in range(WRITERS)]
    await asyncio.gather(*(writer.write(ACTIONS) for writer in writers))
    await writers[-1].drop_the_curtain()


async def _follow(view: View, tap: Subscriber, ready: asyncio.Barrier) -> Transcript:
    """Reads from before the first change to the last change of every session of the view."""
    async with tap.watch(view) as stream:
        await stream.live()
        await ready.wait()
        return transcript([stream.edge, *await _to_the_curtain(view, stream)])


async def _to_the_curtain(view: View, stream: Stream) -> list[Change]:
    waited = {key_of(ref) for ref in REFS if admits(view, key_of(ref))}
    read: list[Change] = []
    while waited:
        read.append(change := await stream.next())
        if change.session_change.session.metadata_json == CURTAIN:
            waited.discard(key_of(change.session))
    return read


async def _logs(client: threadkeep.AsyncClient, view: View = EVERYTHING) -> dict[Ref, list[SessionEvent]]:
    refs = [ref for ref in REFS if admits(view, key_of(ref))]
    return {key_of(ref): [event.pb async for event in client.events(ref, view.wanted, page_size=1000)] for ref in refs}


async def _states(client: threadkeep.AsyncClient) -> dict[Ref, threadkeep.State]:
    states = {key_of(ref): await client.session(ref).state().get() for ref in REFS}
    for app, user, _ in list(states):
        states[app, user, ""] = await client.user_state(user, app=app).get()
        states[app, "", ""] = await client.app_state(app).get()
    return states


def _seqs(logs: dict[Ref, list[SessionEvent]]) -> dict[Ref, set[int]]:
    return {ref: {event.seq for event in events} for ref, events in logs.items()}
