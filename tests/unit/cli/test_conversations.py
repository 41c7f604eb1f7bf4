"""Which format a file is in, and the sessions that each format gives."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from threadkeep import text_of
from threadkeep.cli.formats import EventItem, FileReader, Item, Malformed, ReadOptions, SessionStart, UnknownFormat

USER = {"role": "user", "content": "hi"}
BOT = {"role": "assistant", "content": "hello"}


def read(data: str, form: str | None = None, **options: Any) -> list[Item]:
    return list(FileReader(io.BytesIO(data.encode()), "f", ReadOptions(**{"prefix": "f"} | options), form))


def sessions(items: list[Item]) -> list[tuple[str, str, str, int]]:
    found: list[list[Any]] = []
    for item in items:
        assert not isinstance(item, Malformed), item
        if isinstance(item, SessionStart):
            ref = item.session.ref
            found.append([ref.app, ref.user_id, ref.session_id, 0])
        else:
            found[-1][3] += 1
    return [(app, user, session, count) for app, user, session, count in found]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (json.dumps([USER, BOT]), [("", "import", "f", 2)]),
        (json.dumps([USER, BOT], indent=2), [("", "import", "f", 2)]),
        (f"{json.dumps(USER)}\n{json.dumps(BOT)}\n", [("", "import", "f", 2)]),
        (json.dumps({"messages": [USER, BOT]}), [("", "import", "f-1", 2)]),
        (json.dumps([{"messages": [USER]}, {"messages": [BOT, USER]}]), [("", "import", "f-1", 1), ("", "import", "f-2", 2)]),
        (json.dumps([[USER], [BOT, USER]], indent=1), [("", "import", "f-1", 1), ("", "import", "f-2", 2)]),
        (f"{json.dumps([USER])}\n{json.dumps([BOT])}\n", [("", "import", "f-1", 1), ("", "import", "f-2", 1)]),
        (json.dumps({"messages": []}), [("", "import", "f-1", 0)]),
        (
            json.dumps({"session_id": "s", "user_id": "u", "app": "a", "messages": [USER]}),
            [("a", "u", "s", 1)],
        ),
    ],
)
def test_openai_in_every_shape(data: str, expected: list[tuple[str, str, str, int]]) -> None:
    assert sessions(read(data)) == expected


def test_options_win_over_the_file() -> None:
    items = read(json.dumps({"user": "u", "messages": [USER]}), user_id="me", app="shop", prefix="p", never_expires=True)
    assert sessions(items) == [("shop", "me", "p-1", 1)]
    assert isinstance(items[0], SessionStart)
    assert items[0].never_expires


def test_event_ids_depend_on_the_position_alone() -> None:
    items = read(json.dumps([USER, USER]))
    assert [item.event.event_id for item in items if isinstance(item, EventItem)] == ["message-00001", "message-00002"]


def test_other_fields_of_a_conversation_become_metadata() -> None:
    start = read(json.dumps({"messages": [], "model": "gpt", "tools": [1.0]}))[0]
    assert isinstance(start, SessionStart)
    assert json.loads(start.session.metadata_json) == {"model": "gpt", "tools": [1.0]}


def test_tau_bench() -> None:
    run = {"task_id": 3, "trial": 1, "reward": 0.5, "info": {"task": {"user_id": "mia"}}, "traj": [USER, BOT]}
    items = read(json.dumps([run, {"task_id": 4, "traj": [USER]}]), prefix="airline")
    assert sessions(items) == [("", "mia", "airline-task3-trial1", 2), ("", "import", "airline-task4", 1)]
    assert isinstance(items[0], SessionStart)
    assert dict(items[0].session.labels) == {"task_id": "3", "trial": "1", "reward": "0.5"}
    assert json.loads(items[0].session.metadata_json) == {key: value for key, value in run.items() if key != "traj"}


def test_sgd() -> None:
    turns = [{"speaker": "USER", "utterance": "hi", "frames": []}, {"speaker": "SYSTEM", "utterance": "hello"}]
    items = read(json.dumps([{"dialogue_id": "1_0", "services": ["Hotels_1"], "turns": turns}]), prefix="sgd")
    assert sessions(items) == [("", "import", "sgd-1_0", 2)]
    assert isinstance(items[0], SessionStart)
    assert dict(items[0].session.labels) == {"dialogue_id": "1_0", "service.Hotels_1": "yes"}
    assert isinstance(items[1], EventItem)
    assert (text_of(items[1].event), json.loads(items[1].event.native.content)) == ("hi", turns[0])


@pytest.mark.parametrize(
    ("data", "form", "field"),
    [
        (json.dumps({"messages": [USER, {"role": "x"}]}), None, "messages[1].role"),
        (json.dumps({"messages": "x"}), None, "messages"),
        (json.dumps({"messages": [], "labels": [1]}), None, "labels"),
        (json.dumps({"messages": [], "session_id": {}}), None, "session_id"),
        (json.dumps([{"traj": [1]}]), None, "traj[0]"),
        (json.dumps([{"traj": [], "reward": []}]), None, "reward"),
        (json.dumps([{"messages": []}]), "tau-bench", "traj"),
        (json.dumps({"dialogue_id": "1", "turns": [{"speaker": "HE"}]}), None, "turns[0].speaker"),
        (json.dumps({"dialogue_id": "1", "turns": [{"speaker": "USER"}]}), None, "turns[0].utterance"),
        (json.dumps({"dialogue_id": "", "turns": []}), None, "dialogue_id"),
        (json.dumps({"dialogue_id": "1", "turns": [], "services": "x"}), None, "services"),
    ],
)
def test_a_record_with_a_wrong_field_yields_only_the_error(data: str, form: str | None, field: str) -> None:
    (item,) = read(data, form)
    assert isinstance(item, Malformed)
    assert item.field == field


def test_one_wrong_message_of_a_file_of_messages_keeps_the_others_in_place() -> None:
    items = read("\n".join(json.dumps(each) for each in (USER, {"role": "x"}, BOT)))
    assert [type(item).__name__ for item in items] == ["SessionStart", "EventItem", "Malformed", "EventItem"]
    assert isinstance(items[3], EventItem)
    assert items[3].event.event_id == "message-00003"


def test_a_conversation_among_messages_is_refused() -> None:
    items = read(f"{json.dumps(USER)}\n{json.dumps([BOT])}\n")
    assert isinstance(items[-1], Malformed)


@pytest.mark.parametrize("data", ['{"a": 1}', "[1]", '["a"]'])
def test_an_unknown_format_is_reported_with_its_content(data: str) -> None:
    with pytest.raises(UnknownFormat, match="first record"):
        read(data)


def test_an_empty_file_holds_nothing() -> None:
    assert read("") == []
