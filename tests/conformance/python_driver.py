"""The driver of the Python SDK: a line of JSON is a request, a line of JSON an answer; see the README."""

import asyncio
import base64
import json
import sys
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import grpc
from google.protobuf.descriptor_pool import Default
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

import threadkeep as sdk
from threadkeep.v1.event_removal_pb2 import REMOVAL_MODE_ERASE
from threadkeep.v1.event_service_pb2 import GetContextResponse
from threadkeep.v1.memory_pb2 import MemoryNamespace
from threadkeep.v1.memory_service_pb2 import GetMemoriesResponse, MemoryLookup, UpsertMemoriesResponse
from threadkeep.v1.session_service_pb2 import ForkSessionResponse, MoveSessionResponse, UpdateSessionResponse
from threadkeep.v1.state_pb2 import STATE_SCOPE_APP, STATE_SCOPE_USER, State, StateDelta, StateScope
from threadkeep.v1.state_service_pb2 import GetStateResponse, PatchStateResponse

Parameters = dict[str, Any]
POINTS = ("at_seq", "at_event_id", "at_invocation_id", "at_log_version")


def packed(message: Message) -> str:
    return base64.b64encode(message.SerializeToString()).decode()


def read(kind: type[Message], p: Parameters, name: str) -> Any:
    return kind.FromString(base64.b64decode(p[name])) if name in p else None


def request_of(p: Parameters) -> Any:
    name = f"threadkeep.v1.{p['rpc'].replace('/', '.')}"
    return read(GetMessageClass(Default().FindMethodByName(name).input_type), p, "request")


def session(p: Parameters) -> sdk.SessionRef | str:
    ref = read(sdk.SessionRef, p, "session")
    return ref if ref.app or ref.user_id else ref.session_id


def events_of(given: list[str]) -> list[sdk.SessionEvent]:
    return [sdk.SessionEvent.FromString(base64.b64decode(event)) for event in given]


def streamed(result: Any) -> Parameters:
    failure = sdk.error_of(result)
    return {"response": packed(result.appended)} if failure is None else {"error": error(failure)}


def given(message: Message, *fields: str) -> Parameters:
    """Those of these fields that there are as keyword arguments, but for those that are not set where that means something."""
    known = {name: field for name, field in message.DESCRIPTOR.fields_by_name.items() if name in fields}
    return {name: getattr(message, name) for name, field in known.items() if not field.has_presence or message.HasField(name)}


def expected(message: Message, field: str, kind: Callable[[int], object]) -> Parameters:
    """The precondition of a field, as a keyword argument, if it is set."""
    known = field in message.DESCRIPTOR.fields_by_name and message.HasField(field)
    return {"expect": kind(getattr(message, field))} if known else {}


def whose(message: Message, p: Parameters, *more: str) -> Parameters:
    """Whose, as keyword arguments: what the message leaves empty is the client's, unless the request says all users."""
    said = given(message, "user_id", "app", *more) | ({"any_user": True} if "all_users" in p else {})
    return {name: value for name, value in said.items() if name != "user_id" or value}


def items(client: Any, p: Parameters) -> Any:
    name, request = p["rpc"].split("/")[1], request_of(p)
    if name == "SearchEvents":
        scopes = {"session": {}, "app": {"app": request.app.app, "any_user": True}}
        how = given(request, "query", "session", "filter", "page_size", "mode", "fields", "neighbors", "grouping")
        return client.search(**how, **scopes.get(request.WhichOneof("scope"), whose(request.user, p)))
    if name == "ListMemories":
        which = given(request.filter, "session_ids", "authors", "metadata")
        return client.memory().list(page_size=request.page_size, **which)
    if name == "ListMemoryNamespaces":
        found = client.memory().namespaces(**given(request, "prefix", "suffix", "max_depth", "page_size"))
        return (MemoryNamespace(labels=labels) async for labels in found)
    if name == "ListUsers":
        return client.users(**given(request, "app", "page_size"))
    if name == "ListAuditRecords":
        return client.audit_records(**given(request, "method", "caller_user_id", "session_id", "outcome", "page_size"))
    if name == "ListUserEvents":
        return client.user_events(**whose(request, {}, "filter", "page_size"))
    if name == "ListSessions":
        return client.sessions(**whose(request, p, "labels", "page_size"))
    methods = {"ListEvents": "events", "ListCompactions": "compactions", "ListBranches": "branches", "ListUsage": "usage"}
    names = ("session", "filter", "order", "page_size", "branch", "after_seq", "before_seq")
    return getattr(client, methods[name])(**given(request, *names))


def state(client: Any, request: Any) -> Any:
    """The handle on the state of a request."""
    ref = request.session
    if request.scope == STATE_SCOPE_USER:
        return client.user_state(ref.user_id, app=ref.app)
    return client.app_state(ref.app) if request.scope == STATE_SCOPE_APP else client.session(ref).state()


def point(request: Any) -> Parameters:
    """The point of a request as keyword arguments."""
    return {name.removesuffix("_id"): value for name, value in given(request, *POINTS).items()}


async def forked(client: Any, request: Any) -> Any:
    how = given(request, "labels", "operation_id") | point(request)
    how |= {"metadata": request.metadata_json} if request.HasField("metadata_json") else {}
    inherits = not request.without_parent_labels
    fork = await client.fork(request.session, request.new_session_id, inherit_labels=inherits, **how)
    return ForkSessionResponse(session=fork)


async def listed(client: Any, request: Any) -> Any:
    return await client.sessions_page(**whose(request, {}, "labels", "forked_from", "page_size", "with_state"))


async def removed(client: Any, name: str, request: Any) -> Any:
    """The answer of the SDK's method that removes events."""
    how = given(request, "branch", "operation_id") | expected(request, "expected_log_version", sdk.LogVersion)
    how |= {"erase": True} if getattr(request, "mode", None) == REMOVAL_MODE_ERASE else {}
    if name == "PopEvents":
        return (await client.pop(request.session, request.count, **how)).pb
    if name == "ClearEvents":
        return await client.clear(request.session, **how)
    if name == "RewindSession":
        return await client.rewind(request.session, **how, **point(request))
    if name == "EraseEvents":
        how |= {"invocation_ids": request.invocation_ids}
        return await client.erase_events(request.session, request.event_ids, **how)
    return await client.replace_suffix(request.session, request.expected_event_ids, *request.events, **how)


async def method(client: Any, name: str, request: Any) -> Any:
    """The answer of the SDK's own method for an RPC."""
    if name == "ForkSession":
        return await forked(client, request)
    if name == "MoveSession":
        how = given(request, "operation_id")
        return MoveSessionResponse(session=await client.move_session(request.session, request.new_user_id, **how))
    if name == "LoadSession":
        scopes = [StateScope.Name(each).removeprefix("STATE_SCOPE_").lower() for each in request.state_scopes]
        how = given(request, "exclude_events", "with_newest_event", "page_size")
        return (await client.load_session(request.session, state_scopes=scopes, **how)).pb
    if name == "ListSessions":
        return await listed(client, request)
    if name == "UpdateSession":
        changes = given(request, "set_labels", "etag", "operation_id")
        return UpdateSessionResponse(session=await client.update_session(request.session, **changes))
    if name == "GetState":
        found = await state(client, request).get(request.keys, **given(request, "key_prefix", "as_of_log_version"))
        return GetStateResponse(state=State(values=found.texts, version=found.version))
    if name == "PatchState":
        changes = {"set_json": request.patch.set, "remove": request.patch.remove}
        changes |= expected(request, "expected_version", sdk.StateVersion)
        return PatchStateResponse(version=await state(client, request).patch(**changes))
    if name == "UpsertMemories":
        written = await client.memory().upsert(*request.writes, if_exists=request.if_exists)
        return UpsertMemoriesResponse(memories=written)
    if name == "GetMemories":
        entries = await client.memory().get_many(request.names, refresh_ttl=request.refresh_ttl)
        lookups = [MemoryLookup(name=each, entry=entry) for each, entry in zip(request.names, entries, strict=True)]
        return GetMemoriesResponse(memories=lookups)
    return await removed(client, name, request)


def error(error: Exception) -> Parameters:
    if not isinstance(error, sdk.ThreadkeepError):
        return {"code": "USAGE", "reason": "", "message": str(error), "metadata": {}, "fields": [], "retry_after_ms": None}
    reported = {"code": error.code.name, "reason": error.reason, "message": error.message, "metadata": error.metadata}
    return reported | {
        "fields": [violation.field for violation in error.violations],
        "retry_after_ms": None if error.retry_after is None else round(error.retry_after * 1000),
    }


class Driver:
    """Each method but the last two is an operation; it is given the client, if the request names one, and the request."""

    def __init__(self) -> None:
        self._clients, self._running = dict[str, sdk.AsyncClient](), dict[int, asyncio.Task[None]]()
        self._stops = dict[int, asyncio.Event]()

    async def hello(self, client: Any, p: Parameters) -> Parameters:
        return {"language": "python", "version": sdk.__version__}

    async def connect(self, client: Any, p: Parameters) -> Parameters:
        named = {name: p[name] for name in ("address", "token", "app", "user_id")}
        pems = [value.encode() or None for value in (p.get("tls") or {}).values()]  # ca, key, certificate
        named["tls"] = grpc.ssl_channel_credentials(*pems) if pems else None
        self._clients[p["client"]] = sdk.AsyncClient(**named, timeout=p["timeout_ms"] / 1000 or float("inf"))
        return {}

    async def close(self, client: Any, p: Parameters) -> Parameters:
        await self._clients.pop(p["client"]).close()
        return {}

    async def call(self, client: Any, p: Parameters) -> Parameters:
        service, method = p["rpc"].split("/")
        stubs, noun = await client._stubs(), service.removesuffix("Service").lower().replace("memory", "memories")
        stub = getattr(stubs, noun, None) or getattr(stubs, f"{noun}s")
        return {"response": packed(await client._call(getattr(stub, method), request_of(p), p["timeout"]))}

    async def method(self, client: Any, p: Parameters) -> Parameters:
        return {"response": packed(await method(client, p["rpc"].split("/")[1], request_of(p)))}

    async def append(self, client: Any, p: Parameters) -> Parameters:
        options: Parameters = {name: p[name] for name in ("operation_id", "timeout") if name in p}
        options |= {"create_if_missing": p["create"]} if "create" in p else {}
        if "expected_log_version" in p and "expected_last_event_id" in p:
            raise ValueError("two preconditions, which the SDK's type cannot say")
        for how in ("ignore", "replace"):
            options |= {"if_exists": how} if p.get(f"{how}_existing") else {}
        if "expected_log_version" in p:
            options["expect"] = sdk.LogVersion(int(p["expected_log_version"]))
        if "expected_last_event_id" in p:
            options["expect"] = sdk.LastEventId(p["expected_last_event_id"])
        for place, patch in given(read(StateDelta, p, "state_delta") or StateDelta(), "session", "user", "app").items():
            changes = {"set_json": dict(patch.set), "remove": list(patch.remove)}
            options["state" if place == "session" else f"{place}_state"] = changes
        events = events_of(p["events"])
        return {"response": packed(await client.append(session(p), *events, **options))}

    async def pages(self, client: Any, p: Parameters) -> Parameters:
        found: list[str] = []
        async with aclosing(items(client, p)) as every:
            while len(found) != p.get("limit") and (item := await anext(every, None)) is not None:
                found.append(packed(item))
        return {"items": found}

    async def context(self, client: Any, p: Parameters) -> Parameters:
        return {"response": packed(await client.get_context(session(p), read(sdk.ContextSpec, p, "spec")))}

    async def compact(self, client: Any, p: Parameters) -> Parameters:
        return {"response": packed(await client.compact(session(p), read(sdk.CompactionStrategy, p, "strategy")))}

    async def compact_with(self, client: Any, p: Parameters) -> Parameters:
        strategy = read(sdk.CompactionStrategy, p, "strategy")
        done = await client.compact_with(session(p), lambda prompt: asyncio.sleep(0, p["summary"]), strategy)
        return {"response": "" if done is None else packed(sdk.ApplyCompactionResponse(applied=True, compaction=done))}

    async def compact_context(self, client: Any, p: Parameters) -> Parameters:
        context = read(GetContextResponse, p, "context")
        return {"response": packed(await client.apply_compaction(session(p), context=context, summary=p["summary"]))}

    async def build(self, client: Any, p: Parameters) -> Parameters:
        builder, args = p["builder"], p["args"]
        text = json.loads(args.pop("json")) if "json" in args else args.pop("text", ())
        if builder == "assistant_calls":
            calls = [sdk.tool_call(call["id"], call["name"], call["arguments_json"]) for call in args.pop("calls")]
            builder, args = "assistant", {"tool_calls": calls}
        first = [args.pop("call_id")] if builder == "tool_result" else []
        builder = "tool_error" if args.pop("is_error", False) else builder
        return {"event": packed(getattr(sdk, builder)(*first, text, **args))}

    async def watch(self, client: Any, p: Parameters) -> Parameters:
        request, options = request_of(p), {"checkpoints": p["checkpoints"], "max_retries": p.get("max_retries")}
        options |= given(request, "session", "resume_token", "after_seq", "from_beginning", "filter")
        scope = {} if "session" in options else whose(request.scope, p, "labels")
        followed = client.watch(**options) if "session" in options else client.watch_all(**options, **scope)
        async with aclosing(followed) as changes:
            async for change in changes:
                print(json.dumps({"id": p["id"], "item": packed(change)}), flush=True)
        return {}

    async def append_stream(self, client: Any, p: Parameters) -> Parameters:
        results = client.append_stream([(session(p), events_of(batch)) for batch in p["batches"]])
        return {"results": [streamed(each) async for each in results]}

    async def provided(self, client: Any, p: Parameters) -> Parameters:
        window = sdk.MemoryProvider.limited_window()
        by_name = {"none": sdk.MemoryProvider.none(), "read_only": window.read_only(), "write_only": window.write_only()}
        provided = client.session(session(p)).with_memory(by_name.get(p["provider"], window))
        appended = await provided.append(*events_of(p["events"]))
        return {"response": packed(await provided.get_context()), "log_version": str(appended.log_version)}

    async def consume(self, client: Any, p: Parameters) -> Parameters:
        failed, stop = set[str](), self._stops.setdefault(p["id"], asyncio.Event())

        async def handle(delivery: sdk.Delivery) -> None:
            said = next((event.text for event in getattr(delivery.change, "events", ())), "")
            if said == p.get("park"):
                raise sdk.Park("as requested")
            if said == p.get("fail") and said not in failed:
                failed.add(said)
                raise RuntimeError("as requested")
            print(json.dumps({"id": p["id"], "item": packed(delivery.pb.change)}), flush=True)

        options = {"from_beginning": p["from_beginning"], "max_attempts": p.get("max_attempts", 0)}
        await client.consumer(p["name"]).run(handle, stop=stop, **options)
        return {}

    async def cancel(self, client: Any, p: Parameters) -> Parameters:
        if p["target"] in self._stops:
            self._stops[p["target"]].set()
            return {}
        return {"was_running": p["target"] in self._running and self._running[p["target"]].cancel()}

    async def _serve(self, p: Parameters) -> None:
        try:
            p["timeout"] = p["timeout_ms"] / 1000 if "timeout_ms" in p else None
            answer = {"ok": await getattr(self, p["op"])(self._clients.get(p.get("client", "")), p)}
        except asyncio.CancelledError:
            answer = {"ok": {}}
        except (sdk.ThreadkeepError, ValueError, TypeError, RuntimeError) as failure:
            answer = {"error": error(failure)}
        del self._running[p["id"]]
        print(json.dumps({"id": p["id"], **answer}), flush=True)

    async def serve(self) -> None:
        while line := await asyncio.to_thread(sys.stdin.buffer.readline):
            request = json.loads(line)
            self._running[request["id"]] = asyncio.create_task(self._serve(request))


if __name__ == "__main__":
    asyncio.run(Driver().serve())
