"""Reads and checks the case files. A mistake is reported with file, case and step before anything runs."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from google.protobuf.message import Message

from threadkeep.v1.compaction_pb2 import CompactionStrategy
from threadkeep.v1.compaction_service_pb2 import ApplyCompactionResponse, CompactSessionResponse
from threadkeep.v1.context_pb2 import ContextSpec
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.event_service_pb2 import AppendEventsResponse, GetContextResponse
from threadkeep.v1.state_pb2 import StateDelta
from threadkeep.v1.subscription_pb2 import Change

from . import forms
from .engine import OTHERS
from .messages import RPCS, descriptor_of

FOLDER = Path(__file__).parent / "cases"
KNOWN_FAILURES = Path(__file__).with_name("known_failures.yaml")

_COMMON = {"as", "timeout_ms", "within_ms", "save", "repeat", "expect", "error"}
KINDS: Mapping[str, set[str]] = {
    "call": {"request"},
    "append": {
        "events",
        "create",
        "expected_log_version",
        "expected_last_event_id",
        "ignore_existing",
        "replace_existing",
        "operation_id",
        "state_delta",
    },
    "method": {"request"},
    "pages": {"request", "all_users", "limit", "items"},
    "context": {"spec"},
    "compact": {"strategy"},
    "compact_with": {"strategy", "summary"},
    "compact_context": {"of", "summary"},
    "build": {"args"},
    "watch": {"request", "all_users", "checkpoints", "max_retries"},
    "append_stream": {"batches"},
    "provided": {"provider", "events"},
    "consume": {"consumer", "from_beginning", "max_attempts", "park", "fail"},
    "receive": {"changes", "quiet_ms", "ended", "heartbeats"},
    "cancel": set(),
    "connect": {"app", "user_id", "token", "via"},
    "close": set(),
    "concurrently": set(),
    "gateway": set(),
    "cut": set(),
    "restart": {"via"},
    "pause_ms": set(),
}
"""The kinds of steps, and the keys of each in addition to those of every step."""
PAGES: Mapping[str, str] = {
    "SessionService/ListSessions": "sessions",
    "SessionService/ListUsers": "users",
    "EventService/ListEvents": "events",
    "SearchService/SearchEvents": "hits",
    "CompactionService/ListCompactions": "compactions",
    "MemoryService/ListMemories": "entries",
    "ServerService/ListAuditRecords": "records",
    "EventService/ListUserEvents": "events",
    "EventService/ListBranches": "branches",
    "EventService/ListUsage": "entries",
    "MemoryService/ListMemoryNamespaces": "namespaces",
}
"""The lists that SDKs page through, and the field that holds the items."""
METHODS = (
    "SessionService/ForkSession",
    "SessionService/MoveSession",
    "EventService/LoadSession",
    "SessionService/UpdateSession",
    "SessionService/ListSessions",
    "EventService/RewindSession",
    "EventService/PopEvents",
    "EventService/ClearEvents",
    "EventService/EraseEvents",
    "EventService/ReplaceSuffix",
    "StateService/GetState",
    "StateService/PatchState",
    "MemoryService/UpsertMemories",
    "MemoryService/GetMemories",
)
"""The RPCs that drivers also call by the SDK's own method."""
BUILDERS: Mapping[str, set[str]] = {
    "user": {"text", "author"},
    "assistant": {"text", "author"},
    "system": {"text", "author"},
    "assistant_calls": {"text", "calls"},
    "tool_result": {"call_id", "name", "text", "json", "is_error"},
}
RULE = {"rpc", "times", "before", "after", "retry_after_ms", "delay_ms", "unknown_fields", "unknown_reason", "falls_behind"}
_ERROR = {"reason", "code", "fields", "metadata", "retry_after_ms", "message"}
_PATH = re.compile(r"\.|(\w+|\[\d+\])(\.\w+|\[\d+\])*")
_ANSWERS: Mapping[str, type[Message]] = {
    "append": AppendEventsResponse,
    "context": GetContextResponse,
    "compact": CompactSessionResponse,
    "compact_with": ApplyCompactionResponse,
    "compact_context": ApplyCompactionResponse,
    "build": SessionEvent,
}


class CaseError(ValueError):
    """A mistake in a case file; the message names file, case and step."""


@dataclass(frozen=True)
class Step:
    """A step. `number` is its place, "3", or "3.1.2" for the second step of the first list of a `concurrently`."""

    number: str
    kind: str
    said: Mapping[str, Any]
    lists: Sequence[Sequence[Step]] = ()

    @property
    def subject(self) -> Any:
        return self.said[self.kind]


@dataclass(frozen=True)
class Case:
    file: str
    area: str
    name: str
    steps: Sequence[Step] = field(repr=False)

    @property
    def id(self) -> str:
        """Area and name, as a test's id."""
        return f"{slug(self.area)}-{slug(self.name)}"


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def load(folder: Path = FOLDER) -> Sequence[Case]:
    """Every case, by file and in its order. Raises CaseError with all that is wrong in all files."""
    cases, problems = read(folder)
    if problems:
        raise CaseError("\n".join(problems))
    return cases


def read(folder: Path = FOLDER) -> tuple[list[Case], list[str]]:
    """Every case that can be run, and what is wrong with the others."""
    return _own() if folder == FOLDER else _read(folder)


@functools.cache
def _own() -> tuple[list[Case], list[str]]:
    """Several modules need them, and reading them takes seconds."""
    return _read(FOLDER)


def _read(folder: Path) -> tuple[list[Case], list[str]]:
    cases: dict[str, Case] = {}
    problems: list[str] = []
    for path in sorted(folder.glob("*.yaml"), key=lambda path: (path.stem != "smoke", path.name)):
        for case in _cases(path, problems):
            if case.id in cases:
                problems.append(f"{case.file}, {case.name!r}: {cases[case.id].file} has a case of this name in this area")
            else:
                cases[case.id] = case
    return list(cases.values()), problems


def _cases(path: Path, problems: list[str]) -> Iterator[Case]:
    try:
        content = yaml.load(path.read_text(), Loader=_Loader)
        _check_keys(content, {"area", "cases"}, required={"area", "cases"})
    except (yaml.YAMLError, ValueError) as error:
        problems.append(f"{path.name}: {error}")
        return
    for n, form in enumerate(content["cases"], 1):
        place = f"{path.name}, case {n}"
        try:
            _check_keys(form, {"name", "steps"}, required={"name", "steps"})
            place = f"{path.name}, {form['name']!r}"
            yield Case(path.name, str(content["area"]), str(form["name"]), list(_steps(form["steps"], "")))
        except ValueError as error:
            problems.append(f"{place}: {error}")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML that refuses duplicate keys and reads times as strings."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise yaml.constructor.ConstructorError(None, None, f"{twice!r} occurs twice", node.start_mark)
        return dict(super().construct_mapping(node, deep))


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}


def _steps(said: Any, prefix: str) -> Iterator[Step]:
    if not isinstance(said, list) or not said:
        raise ValueError(f"steps must be a list of steps, not {said!r}")
    for n, form in enumerate(said, 1):
        number = f"{prefix}{n}"
        try:
            yield _step(form, number)
        except ValueError as error:
            problem = str(error)
            raise ValueError(problem if problem.startswith("step ") else f"step {number}: {problem}") from None


def _step(form: Any, number: str) -> Step:
    kinds = [key for key in form if key in KINDS] if isinstance(form, Mapping) else []
    if len(kinds) != 1:
        known = ", ".join(KINDS)
        raise ValueError(f"a step has one of {known}; this is {form!r}")
    kind = kinds[0]
    _check_keys(form, {kind} | KINDS[kind] | _COMMON)
    if "error" in form:
        _check_keys(form["error"], _ERROR)
    for name, path in form.get("save", {}).items():
        if not _PATH.fullmatch(str(path)):
            raise ValueError(f"save.{name}: {path!r} is not a path like session.ref.session_id, events[0].seq or .")
    said = _CHECKS.get(kind, lambda said: said)(form)
    lists = [list(_steps(each, f"{number}.{n}.")) for n, each in enumerate(form[kind], 1)] if kind == "concurrently" else []
    return Step(number, kind, said, lists)


def _check_keys(form: Any, known: set[str], required: Sequence[str] | set[str] = ()) -> None:
    if not isinstance(form, Mapping):
        raise ValueError(f"{form!r} must be a mapping with {', '.join(sorted(known))}")
    unknown = [str(key) for key in form if key not in known]
    if unknown:
        raise ValueError(f"unknown {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    lacking = [key for key in sorted(required) if key not in form]
    if lacking:
        raise ValueError(f"{', '.join(lacking)} must be given")


def _with(said: Mapping[str, Any], **kinds: type[Message]) -> Mapping[str, Any]:
    """The step with these of its forms checked and written out."""
    return {**said, **{key: forms.expanded(descriptor_of(kind), said[key], key) for key, kind in kinds.items() if key in said}}


def _call(said: Mapping[str, Any]) -> Mapping[str, Any]:
    called = said["call" if "call" in said else "method"]
    rpc = RPCS.get(called)
    if rpc is None or rpc.streams:
        known = ", ".join(name for name, each in RPCS.items() if not each.streams)
        raise ValueError(f"no call {called!r}; there are {known}")
    if "method" in said and rpc.name not in METHODS:
        raise ValueError(f"no method of {rpc.name}; there are {', '.join(METHODS)}")
    return _with(said, request=rpc.request, expect=rpc.response)


def _answered(said: Mapping[str, Any]) -> Mapping[str, Any]:
    kind = next(key for key in said if key in _ANSWERS)
    checked = _with(said, expect=_ANSWERS[kind], spec=ContextSpec, strategy=CompactionStrategy, state_delta=StateDelta)
    if kind == "compact_context":
        _check_keys(said, set(said), required={"of", "summary"})
        checked = _with(checked, of=GetContextResponse)
    if kind == "append":
        _check_keys(said, set(said), required={"events"})
        if isinstance(said["events"], list):
            forms.events(said["events"])
    if kind == "build":
        _check_keys({"build": said["build"]}, {"build"})
        if said["build"] not in BUILDERS:
            raise ValueError(f"no builder {said['build']!r}; there are {', '.join(BUILDERS)}")
        _check_keys(said.get("args", {}), BUILDERS[said["build"]])
    return checked


def _pages(said: Mapping[str, Any]) -> Mapping[str, Any]:
    if said["pages"] not in PAGES:
        raise ValueError(f"no pages of {said['pages']!r}; there are {', '.join(PAGES)}")
    rpc = RPCS[said["pages"]]
    checked = _with(said, request=rpc.request)
    name = PAGES[said["pages"]]
    if "items" in said:
        items = forms.expanded(descriptor_of(rpc.response), {name: said["items"]}, "items")[name]
        checked = {**checked, "items": items}
    return checked


def watched(request: Mapping[str, Any]) -> str:
    """The RPC that a watch's request is for."""
    return "SubscriptionService/WatchSession" if "session" in request else "SubscriptionService/WatchAll"


def _watch(said: Mapping[str, Any]) -> Mapping[str, Any]:
    return _with({"request": {}, **said}, request=RPCS[watched(said.get("request", {}))].request)


def _receive(said: Mapping[str, Any]) -> Mapping[str, Any]:
    if "changes" not in said:
        return said
    if not isinstance(said["changes"], list):
        raise ValueError(f"changes must be a list, not {said['changes']!r}")
    return {
        **said,
        "changes": [forms.expanded(Change.DESCRIPTOR, each, f"changes[{n}]") for n, each in enumerate(said["changes"])],
    }


def _connect(said: Mapping[str, Any]) -> Mapping[str, Any]:
    if said.get("via", "server") not in (places := ("server", "gateway", *OTHERS)):
        raise ValueError(f"via is one of {', '.join(places)}, not {said['via']!r}")
    return said


def _gateway(said: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(said["gateway"], list):
        raise ValueError(f"gateway takes a list of rules, not {said['gateway']!r}")
    for rule in said["gateway"]:
        _check_keys(rule, RULE, required={"rpc"})
        if rule["rpc"] != "*" and rule["rpc"] not in RPCS:
            raise ValueError(f"no RPC {rule['rpc']!r}; there are *, {', '.join(RPCS)}")
    return said


def _restart(said: Mapping[str, Any]) -> Mapping[str, Any]:
    if said["restart"] not in ("kill", "term"):
        raise ValueError(f"restart is kill or term, not {said['restart']!r}")
    if said.get("via") not in (None, *OTHERS):
        raise ValueError(f"via is one of {', '.join(OTHERS)}, not {said['via']!r}")
    return said


_CHECKS: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
    "call": _call,
    "method": _call,
    **dict.fromkeys(_ANSWERS, _answered),
    "pages": _pages,
    "watch": _watch,
    "receive": _receive,
    "connect": _connect,
    "gateway": _gateway,
    "restart": _restart,
}
