"""Runs each kind of step through a driver and returns the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from google.protobuf.message import Message

from threadkeep.v1.compaction_pb2 import Compaction, CompactionStrategy
from threadkeep.v1.compaction_service_pb2 import ApplyCompactionResponse, CompactSessionResponse
from threadkeep.v1.context_pb2 import ContextSpec
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.event_service_pb2 import AppendEventsResponse, Branch, GetContextResponse, UsageEntry, UserEvent
from threadkeep.v1.memory_pb2 import MemoryEntry, MemoryNamespace
from threadkeep.v1.search_service_pb2 import SearchHit
from threadkeep.v1.server_service_pb2 import AuditRecord
from threadkeep.v1.session_pb2 import Session, SessionRef
from threadkeep.v1.session_service_pb2 import UserRef
from threadkeep.v1.state_pb2 import StateDelta
from threadkeep.v1.subscription_pb2 import Change

from . import forms
from .cases import Step, watched
from .drivers import Call, Driver
from .engine import OTHERS
from .messages import RPCS, descriptor_of, from_wire, parse, plain, to_wire
from .values import resolve

STEP_WITHIN = 60.0
RECEIVE_WITHIN = 40.0
CLIENT_TIMEOUT_MS = 30_000
_ITEMS: Mapping[str, type[Message]] = {
    "ListSessions": Session,
    "ListUsers": UserRef,
    "ListAuditRecords": AuditRecord,
    "ListEvents": SessionEvent,
    "SearchEvents": SearchHit,
    "ListCompactions": Compaction,
    "ListMemories": MemoryEntry,
    "ListUserEvents": UserEvent,
    "ListBranches": Branch,
    "ListUsage": UsageEntry,
    "ListMemoryNamespaces": MemoryNamespace,
}
Answer = dict[str, Any]


class Surroundings(Protocol):
    """What steps can do to the server and to the gateway before it."""

    address: str
    gateway_address: str

    def rules(self, rules: list[Mapping[str, Any]]) -> None: ...

    def cut(self) -> None: ...

    async def restart(self, how: str, name: str = "") -> None: ...

    async def other(self, name: str) -> str: ...


@dataclass
class Watch:
    """A running watch: its call holds the items that no step has received yet."""

    client: str
    call: Call


@dataclass
class Performer:
    """Performs the steps of one case. An answer is {"ok": plain values} or {"error": ...}."""

    driver: Driver
    around: Surroundings
    names: dict[str, Any]
    prefix: str
    clients: set[str] = field(default_factory=set)
    watches: dict[str, Watch] = field(default_factory=dict)

    async def perform(self, step: Step, names: Mapping[str, Any]) -> Answer:
        """Does one step. Raises TimeoutError, ValueError for what cannot be said, and DriverDied."""
        said = resolve(
            {key: value for key, value in step.said.items() if key not in ("expect", "error", "items", "changes")}, names
        )
        return await _STEPS[step.kind](self, said)

    async def end(self) -> None:
        """Ends the watches and closes the clients that the case left."""
        left = [watch for watch in self.watches.values() if not watch.call.answer.done()]
        await asyncio.gather(*(self._ask({}, "cancel", target=watch.call.number) for watch in left))
        async with asyncio.timeout(STEP_WITHIN):
            await asyncio.gather(*(watch.call.answer for watch in left), return_exceptions=True)
        await asyncio.gather(*(self._ask({}, "close", client=f"{self.prefix}/{name}") for name in self.clients))

    async def _ask(self, said: Mapping[str, Any], op: str, **parameters: Any) -> Answer:
        within = max(STEP_WITHIN, int(said.get("timeout_ms", 0)) / 1000 + 5)
        return await self.driver.ask(op, within=within, **parameters)

    async def _client(self, said: Mapping[str, Any]) -> str:
        name = str(said.get("as", "main"))
        if name not in self.clients:
            if name != "main":
                raise ValueError(f"no client {name!r} was connected")
            await self._connect(said={"connect": "main"})
        return f"{self.prefix}/{name}"

    async def _connect(self, said: Mapping[str, Any]) -> Answer:
        name = str(said["connect"])
        if name in self.clients:
            await self._close({"close": name})
        answer = await self._ask(
            {},
            "connect",
            client=f"{self.prefix}/{name}",
            address=await self._address(said.get("via", "server")),
            app=said.get("app", self.names["app"]),
            user_id=said.get("user_id", self.names["user"]),
            token=said.get("token", ""),
            timeout_ms=int(said.get("timeout_ms", CLIENT_TIMEOUT_MS)),
        )
        if "ok" in answer:
            self.clients.add(name)
        return answer

    async def _address(self, via: str) -> str:
        if via in OTHERS:
            return await self.around.other(via)
        return self.around.gateway_address if via == "gateway" else self.around.address

    async def _close(self, said: Mapping[str, Any]) -> Answer:
        self.clients.remove(said["close"])
        return await self._ask(said, "close", client=f"{self.prefix}/{said['close']}")

    async def _call(self, said: Mapping[str, Any]) -> Answer:
        op = "call" if "call" in said else "method"
        rpc = RPCS[said[op]]
        answer = await self._ask(
            said,
            op,
            client=await self._client(said),
            rpc=rpc.name,
            request=_packed(rpc.request, said.get("request", {})),
            timeout_ms=_timeout(said),
        )
        return _read(answer, rpc.response)

    async def _append(self, said: Mapping[str, Any]) -> Answer:
        version = said.get("expected_log_version")
        answer = await self._ask(
            said,
            "append",
            client=await self._client(said),
            session=self._session(said["append"]),
            events=_events(said["events"]),
            create=said.get("create", False),
            ignore_existing=said.get("ignore_existing", False),
            replace_existing=said.get("replace_existing"),
            operation_id=said.get("operation_id"),
            state_delta=_optional(StateDelta, said.get("state_delta")),
            expected_log_version=None if version is None else str(version),
            expected_last_event_id=said.get("expected_last_event_id"),
            timeout_ms=_timeout(said),
        )
        return _read(answer, AppendEventsResponse)

    async def _pages(self, said: Mapping[str, Any]) -> Answer:
        rpc = RPCS[said["pages"]]
        answer = await self._ask(
            said,
            "pages",
            client=await self._client(said),
            rpc=rpc.name,
            request=_packed(rpc.request, said.get("request", {})),
            all_users=said.get("all_users"),
            limit=said.get("limit"),
        )
        kind = _ITEMS[rpc.name.partition("/")[2]]
        return _mapped(answer, lambda ok: {"items": [plain(from_wire(kind, item)) for item in ok["items"]]})

    async def _context(self, said: Mapping[str, Any]) -> Answer:
        return await self._on_session(said, "context", GetContextResponse, spec=_optional(ContextSpec, said.get("spec")))

    async def _compact(self, said: Mapping[str, Any]) -> Answer:
        strategy = _optional(CompactionStrategy, said.get("strategy"))
        return await self._on_session(said, "compact", CompactSessionResponse, strategy=strategy)

    async def _compact_with(self, said: Mapping[str, Any]) -> Answer:
        strategy, summary = _optional(CompactionStrategy, said.get("strategy")), said.get("summary", "")
        return await self._on_session(said, "compact_with", ApplyCompactionResponse, strategy=strategy, summary=summary)

    async def _compact_context(self, said: Mapping[str, Any]) -> Answer:
        context, summary = _packed(GetContextResponse, said["of"]), said["summary"]
        return await self._on_session(said, "compact_context", ApplyCompactionResponse, context=context, summary=summary)

    async def _on_session(self, said: Mapping[str, Any], op: str, kind: type[Message], **parameters: Any) -> Answer:
        client, session = await self._client(said), self._session(said[op])
        return _read(await self._ask(said, op, client=client, session=session, **parameters), kind)

    async def _build(self, said: Mapping[str, Any]) -> Answer:
        answer = await self._ask(said, "build", builder=said["build"], args=said.get("args", {}))
        return _mapped(answer, lambda ok: plain(from_wire(SessionEvent, ok["event"])))

    async def _watch(self, said: Mapping[str, Any]) -> Answer:
        rpc = RPCS[watched(said["request"])]
        call = await self.driver.send(
            "watch",
            client=await self._client(said),
            rpc=rpc.name,
            request=_packed(rpc.request, said["request"]),
            all_users=said.get("all_users"),
            checkpoints=said.get("checkpoints", False),
            max_retries=said.get("max_retries"),
        )
        self.watches[str(said["watch"])] = Watch(str(said.get("as", "main")), call)
        return {"ok": {}}

    async def _stream(self, said: Mapping[str, Any]) -> Answer:
        batches = [_events(batch) for batch in said["batches"]]
        client, session = await self._client(said), self._session(said["append_stream"])
        answer = await self._ask(said, "append_stream", client=client, session=session, batches=batches)
        return _mapped(answer, lambda ok: {"results": [_result(each) for each in ok["results"]]})

    async def _provided(self, said: Mapping[str, Any]) -> Answer:
        client, session, provider = await self._client(said), self._session(said["provided"]), said["provider"]
        events = _events(said["events"])
        answer = await self._ask(said, "provided", client=client, session=session, provider=provider, events=events)
        context = _read(answer, GetContextResponse)
        return _mapped(context, lambda ok: {"context": ok, "log_version": answer["ok"]["log_version"]})

    async def _consume(self, said: Mapping[str, Any]) -> Answer:
        call = await self.driver.send(
            "consume",
            client=await self._client(said),
            name=said["consumer"],
            from_beginning=said.get("from_beginning", False),
            max_attempts=said.get("max_attempts"),
            park=said.get("park"),
            fail=said.get("fail"),
        )
        self.watches[str(said["consume"])] = Watch(str(said.get("as", "main")), call)
        return {"ok": {}}

    async def _cancel(self, said: Mapping[str, Any]) -> Answer:
        answer = await self._ask(said, "cancel", target=self._watched(said["cancel"]).call.number)
        async with asyncio.timeout(RECEIVE_WITHIN):
            ended = await asyncio.shield(self._watched(said["cancel"]).call.answer)
        return answer if "error" in answer else ended

    def _watched(self, name: Any) -> Watch:
        if name not in self.watches:
            raise ValueError(f"no watch {name!r} was started")
        return self.watches[name]

    async def receive(self, name: Any, within: float) -> Answer:
        """The next change of a watch, or how it ended: {"ok": {}} for one that was canceled."""
        call = self._watched(name).call
        item = await call.item(within)
        return call.answer.result() if item is None else {"item": plain(from_wire(Change, item))}

    async def _nothing(self, said: Mapping[str, Any]) -> Answer:
        return {"ok": {}}

    async def _gateway(self, said: Mapping[str, Any]) -> Answer:
        self.around.rules(said["gateway"])
        return {"ok": {}}

    async def _cut(self, said: Mapping[str, Any]) -> Answer:
        self.around.cut()
        return {"ok": {}}

    async def _restart(self, said: Mapping[str, Any]) -> Answer:
        await self.around.restart(said["restart"], said.get("via", ""))
        return {"ok": {}}

    async def _pause(self, said: Mapping[str, Any]) -> Answer:
        await asyncio.sleep(int(said["pause_ms"]) / 1000)
        return {"ok": {}}

    def _session(self, session: Any) -> str:
        return to_wire(parse(SessionRef, session if isinstance(session, Mapping) else {"session_id": str(session)}))


def _events(given: Any) -> list[str]:
    return [to_wire(parse(SessionEvent, form)) for form in forms.events(given)]


def _result(packed: Answer) -> Answer:
    """One result of a stream of appends: the response, or the error."""
    return packed if "error" in packed else plain(from_wire(AppendEventsResponse, packed["response"]))


def _timeout(said: Mapping[str, Any]) -> int | None:
    return int(said["timeout_ms"]) if "timeout_ms" in said else None


def _packed(kind: type[Message], form: Any) -> str:
    return to_wire(parse(kind, forms.expanded(descriptor_of(kind), form)))


def _optional(kind: type[Message], form: Any) -> str | None:
    return None if form is None else _packed(kind, form)


def _mapped(answer: Answer, read: Callable[[Answer], Any]) -> Answer:
    return {"ok": read(answer["ok"])} if "ok" in answer else answer


def _read(answer: Answer, kind: type[Message]) -> Answer:
    return _mapped(answer, lambda ok: plain(from_wire(kind, ok["response"])))


_STEPS: Mapping[str, Callable[[Performer, Mapping[str, Any]], Awaitable[Answer]]] = {
    "call": Performer._call,
    "method": Performer._call,
    "append": Performer._append,
    "pages": Performer._pages,
    "context": Performer._context,
    "compact": Performer._compact,
    "compact_with": Performer._compact_with,
    "compact_context": Performer._compact_context,
    "build": Performer._build,
    "watch": Performer._watch,
    "consume": Performer._consume,
    "append_stream": Performer._stream,
    "provided": Performer._provided,
    "cancel": Performer._cancel,
    "connect": Performer._connect,
    "close": Performer._close,
    "gateway": Performer._gateway,
    "cut": Performer._cut,
    "restart": Performer._restart,
    "pause_ms": Performer._pause,
}
