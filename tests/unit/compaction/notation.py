"""Windows and outcomes in the notation of the semantics: "~Uo ~Ao U1 A1(c1) T1(c1) U2@sub A2@sub=40".

U user, A assistant, S system, T tool; `~` synthetic; in brackets the ids of the calls that it makes or, for a tool, answers;
`@` a branch; `=` tokens, otherwise the length of its prompt line. The event's id is all that, without brackets and tokens.
"""

from __future__ import annotations

import re

from threadkeep_server.compaction.plan import NewEvent, Plan, Strategy, Window, outcome
from threadkeep_server.domain.model import Role, WindowEvent
from threadkeep_server.domain.text import prompt_line

ROLES = {"U": Role.USER, "A": Role.ASSISTANT, "S": Role.SYSTEM, "T": Role.TOOL}
_TOKEN = re.compile(r"(~?)([UAST])([:\w]*)(?:\(([\w,]*)\))?(?:@([\w.]+))?(?:=(\d+))?")


def window(text: str, branch: str = "") -> Window:
    return Window(tuple(_event(seq, token) for seq, token in enumerate(text.split(), 1)), branch)


def _event(seq: int, token: str) -> WindowEvent:
    found = _TOKEN.fullmatch(token)
    assert found, token
    synthetic, letter, label, ids, branch, tokens = found.groups()
    tools = tuple(ids.split(",")) if ids else ()
    role, words = ROLES[letter], letter + label
    line = prompt_line(role, "", results=[words]) if role is Role.TOOL else prompt_line(role, words)
    return WindowEvent(
        seq=seq,
        time=seq,
        role=role,
        branch=branch or "",
        synthetic=bool(synthetic),
        text=words,
        event_id=f"{synthetic}{words}" + (f"@{branch}" if branch else ""),
        position=seq,
        tokens=int(tokens) if tokens else len(line),
        size=len(words),
        calls=tools if role is not Role.TOOL else (),
        results=tools if role is Role.TOOL else (),
        result_names=("",) * len(tools) if role is Role.TOOL else (),
        prompt_text=line,
    )


def shown(before: Window, plan: Plan) -> str:
    """What a plan does, as "kept | archived": a new summary turn as Σ, the stub of a result in angle brackets."""
    kept = []
    for event in outcome(before, plan):
        if not isinstance(event, NewEvent):
            kept.append(event.event_id)
        elif event.stands_for:
            kept.append(f"<{event.stands_for}>")
        elif event.role is Role.ASSISTANT:
            kept.append("Σ")
    return f"{' '.join(kept)} | {' '.join(plan.archive)}".strip()


def compacted(strategy: Strategy, text: str, branch: str = "") -> str:
    before = window(text, branch)
    return shown(before, strategy.plan(before, len))


def unchanged(strategy: Strategy, text: str, branch: str = "") -> bool:
    return strategy.plan(window(text, branch), len).empty
