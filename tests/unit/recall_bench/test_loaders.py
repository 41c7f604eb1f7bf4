"""The layouts of public sets, from small files that were made up for this, with what real ones are known to do."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.recall_bench import loaders, locomo
from tests.recall_bench.model import Conversation
from tests.recall_bench.reading import NO_EVIDENCE, UNKNOWN_EVIDENCE, BadFile

FIXTURES = Path(loaders.__file__).parent / "fixtures"


def one(name: str, layout: str | None = None) -> Conversation:
    (conversation,) = loaders.load(FIXTURES / name, layout)
    return conversation


def at(*when: int) -> int:
    return int(datetime(*when, tzinfo=UTC).timestamp()) * 10**9  # type: ignore[arg-type, misc]


def test_locomo_sessions_come_in_order_with_their_times() -> None:
    conversation = one("locomo.json")
    assert conversation.id == "conv-1"
    assert [(s.id, s.time_ns) for s in conversation.sessions] == [
        ("session_1", at(2023, 5, 8, 13, 56)),
        ("session_2", at(2023, 6, 30, 0, 5)),
    ]
    assert [turn.role for _, turn in conversation.turns()] == ["user", "assistant", "assistant", "user"]


def test_locomo_captions_count_as_said() -> None:
    assert one("locomo.json").sessions[1].turns[0].text == "The kayak arrived. [image: a red kayak on a roof]"


def test_locomo_evidence_is_read_leniently_and_what_names_no_turn_is_counted() -> None:
    conversation = one("locomo.json")
    assert [(q.type, set(q.gold_turns), set(q.gold_sessions)) for q in conversation.questions] == [
        ("single-hop", {"D1:1"}, {"session_1"}),
        ("multi-hop", {"D1:1", "D2:1"}, {"session_1", "session_2"}),
        ("temporal", {"D2:1"}, {"session_2"}),
        ("adversarial", {"D1:1"}, {"session_1"}),
    ]
    assert conversation.left_out == (NO_EVIDENCE, UNKNOWN_EVIDENCE)
    assert locomo.evidence("D30:05 D1:18") == ["D30:5", "D1:18"]
    assert locomo.evidence(["D"]) == []


def test_longmemeval_sessions_are_put_in_the_order_of_time() -> None:
    first, absent, lost = loaders.load(FIXTURES / "longmemeval.json")
    assert [(s.id, s.time_ns) for s in first.sessions] == [
        ("early", at(2023, 5, 11, 10, 30)),
        ("late", at(2023, 5, 20, 2, 21)),
        ("late#2", at(2023, 5, 25, 8)),
    ]
    (question,) = first.questions
    assert question.gold_turns == {"late:0"}
    assert question.gold_sessions == {"late", "late#2"}
    assert question.time_ns == at(2023, 6, 1, 9)
    assert (absent.questions, absent.left_out) == ((), ("it has no answer",))
    assert (lost.questions, lost.left_out) == ((), (UNKNOWN_EVIDENCE,))


def test_beam_directories_are_found_however_deep() -> None:
    small, large = loaders.load(FIXTURES / "beam")
    assert (small.id, large.id) == ("100K-7", "10M-1")
    assert [(s.id, s.time_ns, len(s.turns)) for s in small.sessions] == [
        ("batch_0", at(2024, 3, 15), 4),
        ("batch_1", at(2024, 4, 2), 1),
    ]
    assert [(q.type, set(q.gold_turns)) for q in small.questions] == [
        ("information_extraction", {"2"}),
        ("knowledge_update", {"2", "4"}),
    ]
    assert small.left_out == ("it has no answer", NO_EVIDENCE)


def test_beam_questions_whose_evidence_is_ambiguous_are_left_out() -> None:
    _, large = loaders.load(FIXTURES / "beam")
    assert [turn.id for _, turn in large.turns()] == ["0", "1", "0#2"]
    assert [q.text for q in large.questions] == ["What more?"]
    assert large.left_out == ("its evidence names more than one turn by one id",)


def test_beam_rows_may_hold_python_literals() -> None:
    conversation = one("beam_rows.json")
    assert conversation.id == "42"
    assert [turn.id for _, turn in conversation.turns()] == ["5", "6"]
    assert conversation.questions[0].gold_turns == {"5"}


def test_a_chat_without_a_questions_file_is_a_bad_file(tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_text("[]")
    with pytest.raises(BadFile, match=r"chat\.json: expected probing_questions"):
        list(loaders.load(tmp_path / "chat.json"))


@pytest.mark.parametrize(
    ("content", "layout", "expected"),
    [
        ("{", None, "expected a JSON file in UTF-8"),
        ("[]", None, "expected the layout of own, locomo, longmemeval, beam, found a list of 0"),
        ('{"a": 1}', "beam", "expected the layout of beam, found an object with 'a'"),
        ('[{"conversation": {}, "qa": []}]', None, "expected sample 0.conversation to have session_1"),
        ('[{"conversation": {"session_1": 3}, "qa": []}]', None, "expected sample 0.session_1 to be a list, found int"),
        ('[{"conversation": {"session_1": [{"text": ""}]}, "qa": []}]', None, r"to have 'speaker'; it has \['text'\]"),
        ('[{"question": "", "haystack_sessions": [[5]]}]', None, "to be an object, found int"),
        ('{"chat": "(", "probing_questions": {}}', None, "expected JSON or a Python literal"),
        ('{"chat": [], "probing_questions": {}}', None, "expected batches with turns"),
    ],
)
def test_a_bad_file_is_reported_with_the_place(tmp_path: Path, content: str, layout: str | None, expected: str) -> None:
    path = tmp_path / "set.json"
    path.write_text(content)
    with pytest.raises(BadFile, match=expected) as raised:
        list(loaders.load(path, layout))
    assert str(raised.value).startswith(str(path))


def test_a_path_without_a_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="found neither"):
        loaders.load(tmp_path / "nowhere")
    with pytest.raises(BadFile, match="found none"):
        loaders.load(tmp_path)
    with pytest.raises(BadFile, match="not 'csv'"):
        loaders.load(tmp_path, "csv")


def a_set_of_our_own(**changed: Any) -> dict[str, Any]:
    turn = {"id": "a", "speaker": "Ann", "role": "user", "text": "Hi", "results": '{"n": 1}'}
    question = {"question": "Who?", "type": "single", "evidence": ["a"]}
    session = {"id": "s", "time": "2024-03-02T18:30:00", "turns": [turn]}
    return {"conversation": "c", "sessions": [session], "questions": [question]} | changed


def test_our_own_layout_keeps_tool_results(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps(a_set_of_our_own()))
    (conversation,) = loaders.load(tmp_path)
    (turn,) = conversation.sessions[0].turns
    assert (turn.speaker, turn.text, turn.results, turn.time_ns) == ("Ann", "Hi", '{"n": 1}', at(2024, 3, 2, 18, 30))
    assert conversation.questions[0].time_ns > turn.time_ns


def test_our_own_evidence_must_name_turns(tmp_path: Path) -> None:
    question = {"question": "Who?", "type": "single", "evidence": ["a", "z"]}
    (tmp_path / "c.json").write_text(json.dumps(a_set_of_our_own(questions=[question])))
    with pytest.raises(BadFile, match="expected the evidence of 'Who\\?' to name turns"):
        list(loaders.load(tmp_path))
