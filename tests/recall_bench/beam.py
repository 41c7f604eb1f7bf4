"""BEAM's layout (Tavakoli et al., "Beyond a Million Tokens: Benchmarking and Enhancing Long-Term Memory in LLMs").

Accepted are:

- a directory of a conversation: `chat.json`, with `probing_questions/probing_questions.json` or `probing_questions.json` next
  to it; `chat.json` itself; or any directory above, however deep.
- a JSON file of rows (one object, a list, or {"rows": [{"row": ...}]}) with `conversation_id`, `chat` and `probing_questions`.
  Both may be JSON, or text that holds JSON or a Python literal.

A chat is a list of batches, {"turns": [...], "time_anchor"?: "March-15-2024"}; or of plans, {"plan-1": [batches]}; or of lists
of messages. A batch's turns are messages or lists of messages, {role, content, id, time_anchor?}. A batch is a session.
Questions are {ability: [{question, source_chat_ids}]}; the ids may be nested in lists and objects. A question of which an id
names two messages (each plan counts from the start) is left out, and so are those of the ability "abstention"."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import reading
from .model import Conversation, Question, Session, Turn

AMBIGUOUS = "its evidence names more than one turn by one id"
ABSTENTION = "it has no answer"

_TIMES = ("%B-%d-%Y", "%b-%d-%Y", "%B %d, %Y", "%B %d %Y", "%Y-%m-%d")


def matches(data: Any) -> bool:
    row = next(iter(_rows(data)), None)
    return isinstance(row, dict) and "chat" in row and "probing_questions" in row


def chats(path: Path) -> list[Path]:
    """The chats below a directory that have a file of questions."""
    return sorted(chat for chat in path.rglob("chat.json") if _questions_of(chat))


def read_chat(chat: Path) -> Conversation:
    """A chat with its file of questions. Raises BadFile."""
    questions = _questions_of(chat)
    if questions is None:
        raise reading.BadFile(chat, "expected probing_questions/probing_questions.json next to it")
    return _conversation(chat, "-".join(chat.resolve().parts[-3:-1]), reading.read_json(chat), reading.read_json(questions))


def read(path: Path, data: Any) -> Iterator[Conversation]:
    for index, row in enumerate(_rows(data)):
        each = reading.as_object(path, row, f"row {index}")
        chat, requested = (
            _literal(path, reading.member(path, each, name, f"row {index}")) for name in ("chat", "probing_questions")
        )
        yield _conversation(path, str(each.get("conversation_id", f"{path.stem}-{index}")), chat, requested)


def _questions_of(chat: Path) -> Path | None:
    for place in (chat.parent / "probing_questions" / "probing_questions.json", chat.parent / "probing_questions.json"):
        if place.is_file():
            return place
    return None


def _rows(data: Any) -> list[Any]:
    if isinstance(data, dict) and isinstance(data.get("rows"), list):
        data = data["rows"]
    rows = data if isinstance(data, list) else [data]
    return [row["row"] if isinstance(row, dict) and isinstance(row.get("row"), dict) else row for row in rows]


def _literal(path: Path, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(value)
        except (ValueError, SyntaxError):
            continue
    raise reading.BadFile(path, f"expected JSON or a Python literal, found {value[:40]!r}")


def _conversation(path: Path, title: str, chat: Any, requested: Any) -> Conversation:
    sessions: list[Session] = []
    seen: Counter[str] = Counter()
    for number, batch in enumerate(_batches(path, reading.as_list(path, chat, "the chat"))):
        messages = list(_messages(batch))
        anchors = [batch.get("time_anchor") if isinstance(batch, dict) else None, *(one.get("time_anchor") for one in messages)]
        time = next((reported for anchor in anchors if (reported := reading.parse_time(anchor, *_TIMES)) is not None), None)
        start = reading.after(sessions) if time is None else time
        turns: list[Turn] = []
        for index, message in enumerate(messages):
            name = str(message.get("id", f"{number}:{index}"))
            seen[name] += 1
            unique = name if seen[name] == 1 else f"{name}#{seen[name]}"
            role = str(message["role"])
            turns.append(Turn(unique, role, role, str(message["content"]), reading.turn_time(start, index)))
        if turns:
            sessions.append(Session(f"batch_{number}", start, tuple(turns)))
    if not sessions:
        raise reading.BadFile(path, "expected batches with turns of {role, content, id}, found none")
    abilities = reading.as_object(path, requested, "probing_questions").items()
    every = ((ability, one) for ability, several in abilities for one in (several if isinstance(several, list) else [several]))
    questions, left_out = reading.split(_question(path, ability, one, tuple(sessions), seen) for ability, one in every)
    return Conversation(title, tuple(sessions), questions, left_out)


def _batches(path: Path, chat: list[Any]) -> Iterator[Any]:
    for part in chat:
        if isinstance(part, list) or (isinstance(part, dict) and "turns" in part):
            yield part
        elif isinstance(part, dict) and not {"role", "content"} <= part.keys():
            for plan in part.values():
                yield from _batches(path, plan if isinstance(plan, list) else [])
    if any(isinstance(part, dict) and {"role", "content"} <= part.keys() for part in chat):
        yield [part for part in chat if isinstance(part, dict)]


def _messages(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict) and {"role", "content"} <= node.keys():
        yield node
    elif isinstance(node, (dict, list)):
        for child in node.get("turns", []) if isinstance(node, dict) else node:
            yield from _messages(child)


def _question(path: Path, ability: str, each: Any, sessions: tuple[Session, ...], seen: Counter[str]) -> Question | str:
    requested = reading.as_object(path, each, f"a question of {ability}")
    if ability == "abstention":
        return ABSTENTION
    gold = list(_ids(requested.get("source_chat_ids")))
    if any(seen[one] > 1 for one in gold):
        return AMBIGUOUS
    text = str(requested.get("question") or requested.get("question_text") or "")
    return reading.question(text, ability, gold, sessions, reading.asked_after(sessions))


def _ids(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from _ids(child)
    elif isinstance(node, (int, str)) and not isinstance(node, bool):
        yield str(node)
