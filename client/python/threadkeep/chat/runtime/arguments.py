"""Validation of arguments of clients and requests. Errors say what to pass instead."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from ... import AsyncClient, Client
from ...v1.event_pb2 import SessionEvent
from ...v1.session_pb2 import Session, SessionRef
from ...values.events import Event
from ..errors import InvalidTool
from ..memory.events import from_event
from ..tools.function_tools import function_tool, runs_async
from ..tools.tool import Tool, duplicates
from ..types.messages import Content, Message, user
from ..types.options import ChatOptions, ToolOptions
from ..types.texts import is_encodable

SessionLike = str | SessionRef | Session
_PLACE = re.compile(r"\{\{(\w+)\}\}|\{([^\W\d]\w*)\}")


def filled(text: str, values: Mapping[str, Any]) -> str:
    """Replaces each `{name}` by its value; without values the text stays unchanged. `{{name}}` becomes `{name}`; other braces
    stay, because instructions quote JSON. Raises ValueError for a name without a value."""
    if not values:
        return text

    def value(found: re.Match[str]) -> str:
        if found[1] is not None:
            return f"{{{found[1]}}}"
        if found[2] not in values:
            known = ", ".join(sorted(values))
            raise ValueError(f"the text has a placeholder {{{found[2]}}} without a value; the values are: {known}")
        return str(values[found[2]])

    return _PLACE.sub(value, text)


def messages_of(items: Iterable[object]) -> tuple[Message, ...]:
    """Returns the messages. Raises TypeError for anything else."""
    return tuple(_message(item) for item in items)


def _message(item: object) -> Message:
    if isinstance(item, Message):
        return item
    if isinstance(item, Event | SessionEvent):
        return from_event(item.pb if isinstance(item, Event) else item)
    if isinstance(item, str):
        raise TypeError(f"a message has a role: pass chat.user({item!r}) or chat.assistant(...) instead of the text alone")
    if isinstance(item, Sequence | Mapping):
        raise TypeError("pass messages one by one: .messages(*history), each made by chat.user(...), chat.assistant(...) ...")
    raise TypeError(f"a message is made by chat.user(...), chat.assistant(...) or chat.tool(...), not {type(item).__name__}")


def user_message(content: Content) -> Message:
    """Returns the user's message. Raises ValueError if it is empty or not valid Unicode, TypeError for anything but text and
    parts."""
    if isinstance(content, Message):
        raise TypeError("pass a message to .messages(...) or .prompt(...); .user(...) takes the user's text or parts")
    message = user(content)
    if message.is_blank and not message.text:
        raise ValueError("the user's message is empty; omit it, or pass a text or parts")
    if not is_encodable(message.text):
        raise ValueError("the user's message contains a lone surrogate; remove it")
    return message


def tools_of(items: Iterable[object], client: str) -> tuple[Tool, ...]:
    """Returns tools; functions are converted. `client`: the name of the client class.

    Raises InvalidTool for other objects, for duplicate names, and for coroutine functions in a synchronous client.
    """
    if not isinstance(items, Iterable) or isinstance(items, str | bytes | Mapping):
        raise InvalidTool(f"tools are a sequence of functions and Tools, not {type(items).__name__}")
    tools = [_tool(item, client) for item in items]
    if twice := duplicates(tool.name for tool in tools):
        raise InvalidTool(f"two tools have the name {twice[0]!r}; rename one of them: tool.renamed(...)")
    return tuple(tools)


def _tool(item: object, client: str) -> Tool:
    if isinstance(item, Sequence | set | frozenset) and not isinstance(item, str):
        raise InvalidTool("pass tools one by one: .tools(*tools)")
    if not isinstance(item, Tool) and (not callable(item) or isinstance(item, type)):
        raise InvalidTool(f"a tool is a Python function, or a Tool (see chat.function_tool), not {item!r}")
    tool = item if isinstance(item, Tool) else function_tool(item)
    if not client.startswith("Async") and runs_async(tool.run):
        raise InvalidTool(
            f"the tool {tool.name!r} is a coroutine function, which {client} cannot await: "
            f"use Async{client}, or pass a plain function"
        )
    return tool


def options_of(options: ChatOptions | None, values: Mapping[str, Any], client: str) -> ChatOptions:
    """Returns the options with these fields changed. Raises TypeError for another type or an unknown field, and the errors of
    `tools_of`."""
    if options is not None and not isinstance(options, ChatOptions):
        raise TypeError(f"options are ChatOptions or ToolOptions, or given by name, not {type(options).__name__}")
    base = options or ToolOptions()
    if isinstance(base, ToolOptions) and base.tools:
        base = base.changed(tools=tools_of(base.tools, client))
    known = {field.name for field in fields(base)} | {field.name for field in fields(ToolOptions)}
    for name in values:
        known_name(name, known, "option", hint="; a provider's own parameters go into extra={...}")
    made: dict[str, Any] = {name: tools_of(value, client) if name == "tools" else value for name, value in values.items()}
    if made.keys() <= {field.name for field in fields(base)}:
        return base.changed(**made)
    return ToolOptions(**made).over(base)


def known_name(name: str, known: Iterable[str], what: str, *, hint: str = "") -> None:
    """Raises TypeError for an unknown name and suggests a similar one."""
    names = sorted(known)
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"
        raise TypeError(f"unknown {what} {name!r}; {meant}{hint}")


def session_of(session: object) -> str | SessionRef:
    """Returns the id, or a copy of the reference. Raises TypeError for another type, ValueError for an empty id."""
    if not isinstance(session, SessionLike):
        raise TypeError(f"a session is its id, a SessionRef or a Session, not {type(session).__name__}")
    found = session if isinstance(session, str) else _copied(session.ref if isinstance(session, Session) else session)
    if not session_id(found):
        raise ValueError("the session's id is empty")
    return found


def id_of(name: str, value: object) -> str | None:
    """Returns a non-empty string or None. Raises TypeError or ValueError that names the argument."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} is a text, not {type(value).__name__}")
    if value == "":
        raise ValueError(f"{name} is empty; omit it")
    return value


def mapping_of(name: str, values: object) -> dict[str, Any]:
    """Returns a copy, empty for None. Raises TypeError that names the argument."""
    if values is not None and not isinstance(values, Mapping):
        raise TypeError(f"{name} maps names to values; it is no {type(values).__name__}")
    return dict(values or {})


def _copied(ref: SessionRef) -> SessionRef:
    copy = SessionRef()
    copy.CopyFrom(ref)
    return copy


def session_id(session: object) -> str:
    """Returns the session id; empty for anything else."""
    return session.session_id if isinstance(session, SessionRef) else session if isinstance(session, str) else ""


def check_form(thing: object, kind: type, client: str, way: tuple[str, str]) -> None:
    """Raises TypeError if the object does not implement the protocol, or has the other form. `way`: the methods for whole
    answers and for chunks.

    Only certain mismatches are rejected: a method may return the result of another one.
    """
    is_async = client.startswith("Async")
    name, other = kind.__name__, client.removeprefix("Async") if is_async else f"Async{client}"
    given = thing.__name__ if isinstance(thing, type) else type(thing).__name__
    if isinstance(thing, type):
        raise TypeError(f"{client} takes an object, not the class {given}: {given}(...)")
    if not isinstance(thing, kind):
        raise TypeError(f"{client} needs {_a(name)} (see chat.{name} for what one has), not {given}")
    whole, chunks = (getattr(thing, each) for each in way)
    awaits = inspect.iscoroutinefunction(whole) or inspect.isasyncgenfunction(chunks)
    blocks = inspect.isgeneratorfunction(chunks) and not inspect.iscoroutinefunction(whole)
    if awaits and not is_async:
        raise TypeError(f"{client} cannot await {given}: pass it to {other}, or pass {_a(name)} here")
    if blocks and is_async:
        raise TypeError(f"{client} would be blocked by {given}: pass it to {other}, or pass {_a(name)} here")


def check_sdk(client: object, taker: str) -> None:
    """Raises TypeError for an SDK client of the other form. `taker`: the class that receives it."""
    is_async = taker.startswith("Async")
    if isinstance(client, Client if is_async else AsyncClient):
        own, other = ("AsyncClient", taker.removeprefix("Async")) if is_async else ("Client", f"Async{taker}")
        raise TypeError(f"{taker} needs {_a(own)}, not {_a(type(client).__name__)}: pass it to {other}, or pass {_a(own)} here")


def _a(name: str) -> str:
    return f"{'an' if name.startswith(('A', 'I')) else 'a'} {name}"
