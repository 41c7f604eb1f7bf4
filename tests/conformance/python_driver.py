"""The driver of the Python SDK: a line of JSON is a request, a line of JSON an answer; see the README."""

import asyncio
import base64
import json
import sys
from contextlib import aclosing
from typing import Any

import grpc
from google.protobuf.descriptor_pool import Default
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

import threadkeep as sdk
from threadkeep.v1.event_service_pb2 import GetContextResponse

Parameters = dict[str, Any]


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


def given(message: Message, *fields: str) -> Parameters:
    """Those of these fields that there are as keyword arguments, but for those that are not set where that means something."""
    known = {name: field for name, field in message.DESCRIPTOR.fields_by_name.items() if name in fields}
    return {name: getattr(message, name) for name, field in known.items() if not field.has_presence or message.HasField(name)}


def whose(message: Message, p: Parameters, *more: str) -> Parameters:
    """Whose, as keyword arguments: what the message leaves empty is the client's, unless the request says all users."""
    said = given(message, "user_id", "app", *more) | ({"all_users": True} if "all_users" in p else {})
    return {name: value for name, value in said.items() if name != "user_id" or value}


def items(client: Any, p: Parameters) -> Any:
    name, request = p["rpc"].split("/")[1], request_of(p)
    if name == "SearchEvents":
        scopes = {"session": {}, "app": {"app": request.app.app, "all_users": True}}
        how = given(request, "query", "session", "filter", "page_size", "mode", "fields", "neighbors", "grouping")
        return client.search(**how, **scopes.get(request.WhichOneof("scope"), whose(request.user, p)))
    if name == "ListMemories":
        which = given(request.filter, "session_ids", "authors", "metadata")
        return client.memory().list(page_size=request.page_size, **which)
    if name == "ListSessions":
        return client.sessions(**whose(request, p, "labels", "page_size"))
    method = {"ListEvents": client.events, "ListCompactions": client.compactions}[name]
    return method(**given(request, "session", "filter", "order", "page_size"))


def error(error: Exception) -> Parameters:
    if not isinstance(error, sdk.ThreadkeepError):
        return {"code": "USAGE", "reason": "", "message": str(error), "metadata": {}, "fields": [], "retry_after_ms": None}
    reported = {"code": error.code.name, "reason": error.reason, "message": error.message, "metadata": error.metadata}
    fields = [error.metadata[name] for name in ("field",) if name in error.metadata and reported["code"] == "INVALID_ARGUMENT"]
    return reported | {
        "fields": fields,
        "retry_after_ms": None if error.retry_after is None else round(error.retry_after * 1000),
    }


class Driver:
    """Each method but the last two is an operation; it is given the client, if the request names one, and the request."""

    def __init__(self) -> None:
        self._clients, self._running = dict[str, sdk.AsyncClient](), dict[int, asyncio.Task[None]]()

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

    async def append(self, client: Any, p: Parameters) -> Parameters:
        names = ("create", "ignore_existing", "expected_last_event_id", "timeout")
        options: Parameters = {name: p[name] for name in names if name in p}
        if "expected_log_version" in p:
            options["expected_log_version"] = int(p["expected_log_version"])
        events = [sdk.SessionEvent.FromString(base64.b64decode(event)) for event in p["events"]]
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
        return {"event": packed(getattr(sdk, builder)(*first, text, **args))}

    async def watch(self, client: Any, p: Parameters) -> Parameters:
        request, options = request_of(p), {"checkpoints": p["checkpoints"], "max_retries": p.get("max_retries")}
        options |= given(request, "session", "resume_token", "after_seq", "from_beginning", "filter")
        options |= {} if "session" in options else whose(request.scope, p, "labels")
        async with aclosing(client.watch(**options)) as changes:
            async for change in changes:
                print(json.dumps({"id": p["id"], "item": packed(change)}), flush=True)
        return {}

    async def cancel(self, client: Any, p: Parameters) -> Parameters:
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
