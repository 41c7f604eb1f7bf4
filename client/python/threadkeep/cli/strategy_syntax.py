"""The command-line notation of strategies and triggers: `turn-window=20`, `trim-tool-results=2,min-tokens=64`, `tokens=9000`.

Output has the same form. A name has its main number, or as in `webhook=summaries` the name of what plans; other options follow
it. Texts, which may contain commas, are given as JSON of the protos.
"""

from __future__ import annotations

import json as json_
from collections.abc import Iterable, Sequence
from typing import Annotated, TypeVar

import typer
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import Message

from .. import compaction
from ..v1.compaction_pb2 import CompactionPolicy, CompactionStrategy, CompactionTrigger
from .options import usage

M = TypeVar("M", bound=Message)

_STRATEGIES = {
    field.name.replace("_", "-"): field for field in CompactionStrategy.DESCRIPTOR.fields if field.name != "pipeline"
}
_TRIGGERS = {
    field.name.replace("_", "-"): field.name for field in CompactionTrigger.DESCRIPTOR.fields if field.message_type is None
}
_NAMES = ", ".join(_STRATEGIES)
# What is planned elsewhere has a name in place of a number.
_NAMED = ("webhook", "consumer")

Strategies = Annotated[
    list[str] | None,
    typer.Option(
        "--strategy",
        "--step",
        metavar="NAME[=N][,OPTION=N]...",
        help=f"How: {_NAMES}. Repeated, a pipeline of them.",
    ),
]
StrategyJson = Annotated[str, typer.Option(metavar="JSON", help="How, as JSON of CompactionStrategy, instead of --strategy.")]
Triggers = Annotated[
    list[str] | None,
    typer.Option(
        "--if",
        "--trigger",
        metavar="KIND=N[,KIND=N]...",
        help=f"When: {', '.join(_TRIGGERS)}. With commas all must fire; repeated, any.",
    ),
]


def strategy_of(steps: Sequence[str] | None, text: str) -> CompactionStrategy | None:
    """Returns the strategy of the options; None without any."""
    if steps and text:
        raise usage("give either --strategy or --strategy-json")
    if text:
        return from_json(text, CompactionStrategy(), "--strategy-json")
    made = [_step(each) for each in steps or ()]
    return compaction.pipeline(*made) if len(made) > 1 else made[0] if made else None


def _step(text: str) -> CompactionStrategy:
    head, *options = text.split(",")
    name, equals, number = head.partition("=")
    field = _STRATEGIES.get(name)
    if field is None:
        raise usage(f"no strategy {name!r}; there are {_NAMES}")
    message = CompactionStrategy()
    arm = getattr(message, field.name)
    arm.SetInParent()
    if field.name in _NAMED:
        if options or not number:
            raise usage(f"{name} needs a name: {name}=NAME")
        arm.name = number
        return message
    numbers = {each.name: each for each in arm.DESCRIPTOR.fields if each.cpp_type != each.CPPTYPE_STRING}
    main = next(iter(numbers))
    for each in ([f"{main}={number}"] if equals else []) + options:
        key, _, value = each.partition("=")
        known = key.replace("-", "_")
        if known not in numbers:
            raise usage(f"{name} has no option {key!r}; it has {', '.join(numbers).replace('_', '-')}")
        _set(arm, known, value, text)
    return message


def trigger_of(alternatives: Sequence[str] | None) -> CompactionTrigger | None:
    """Returns the trigger of the options; None without any."""
    made = [_one_of([_trigger(each) for each in text.split(",")], all_=True) for text in alternatives or ()]
    return _one_of(made, all_=False) if made else None


def _trigger(text: str) -> CompactionTrigger:
    name, _, value = text.partition("=")
    if name not in _TRIGGERS:
        raise usage(f"no trigger {name!r}; there are {', '.join(_TRIGGERS)}")
    trigger = CompactionTrigger()
    _set(trigger, _TRIGGERS[name], value, text)
    return trigger


def _one_of(triggers: list[CompactionTrigger], *, all_: bool) -> CompactionTrigger:
    if len(triggers) == 1:
        return triggers[0]
    return compaction.all_of(*triggers) if all_ else compaction.any_of(*triggers)


def _set(message: Message, name: str, value: str, text: str) -> None:
    try:
        setattr(message, name, int(value.replace("_", "")))
    except ValueError:
        raise usage(f"{text!r} needs a number after each =, of at most 32 or 64 bits") from None


def from_json(text: str, message: M, what: str) -> M:
    """Returns a message from its JSON form."""
    try:
        return ParseDict(json_.loads(text), message)
    except (ParseError, ValueError) as error:
        raise usage(f"{what} is not {message.DESCRIPTOR.name} as JSON: {error}") from None


def shown_strategy(strategy: CompactionStrategy) -> str:
    """As it is given; texts are left out."""
    kind = strategy.WhichOneof("kind")
    if kind is None:
        return ""
    if kind == "pipeline":
        return " then ".join(map(shown_strategy, strategy.pipeline.steps))
    arm = getattr(strategy, kind)
    if kind in _NAMED:
        return f"{kind}={arm.name}"
    main = next(iter(arm.DESCRIPTOR.fields)).name
    found = {field.name: value for field, value in arm.ListFields()}
    head = f"{kind}={found.pop(main)}" if main in found else kind
    return ",".join([head, *(f"{key}={value}" for key, value in found.items() if isinstance(value, int))]).replace("_", "-")


def shown_trigger(trigger: CompactionTrigger) -> str:
    """As it is given."""
    kind = trigger.WhichOneof("kind")
    if kind is None:
        return ""
    if kind in ("any_of", "all_of"):
        nested: Iterable[CompactionTrigger] = getattr(trigger, kind).triggers
        joined = (" or " if kind == "any_of" else ",").join(map(shown_trigger, nested))
        return f"({joined})" if kind == "any_of" else joined
    return f"{kind.replace('_', '-')}={getattr(trigger, kind)}"


def shown_policy(policy: CompactionPolicy) -> str:
    """In one line."""
    if policy.disabled:
        return "never compact"
    return f"{shown_strategy(policy.strategy)} if {shown_trigger(policy.trigger).removeprefix('(').removesuffix(')')}"
