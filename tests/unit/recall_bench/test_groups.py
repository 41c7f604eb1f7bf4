"""The careful baseline, and the report by group of the development set."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.recall_bench import local
from tests.recall_bench.groups import HELD_BACK, main, script_name
from tests.recall_bench.loaders import OWN
from tests.recall_bench.local import PACKAGED, LocalModel
from tests.recall_bench.model import Conversation, Question, Session, Turn
from tests.recall_bench.offline import hybrid
from tests.recall_bench.plain import PlainFts5, careful_text, careful_words

WORK = OWN.parent / "development" / "work"


def test_the_careful_baseline_drops_stop_words_and_endings() -> None:
    assert careful_words("What's the name of Caroline’s dog?") == ["name", "Caroline", "dog"]
    assert careful_words("Who are you?") == ["Who", "are", "you"], "a question of nothing else keeps them"


def test_the_careful_baseline_finds_a_speaker_and_no_stop_word() -> None:
    turns = [Turn("1", "Ada", "user", "I went home.", 0), Turn("2", "Bo", "user", "What is it?", 0)]
    with PlainFts5() as table:
        table.add(map(careful_text, turns))
        assert table.search("What did Ada do?", 10, careful=True) == [1]
        assert table.search("What did Ada do?", 10) == [1, 2]


@pytest.mark.parametrize(
    ("text", "script"), [("Où est-il ?", "latin"), ("厨房の色", "han"), ("Кто это?", "cyrillic"), ("12?", "latin")]
)
def test_the_script_of_a_question(text: str, script: str) -> None:
    assert script_name(text) == script


def test_the_report_has_a_line_per_group_and_method(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    group = tmp_path / "small"
    group.mkdir()
    (group / "one.json").symlink_to(WORK / "sensor-firmware.json")
    main([str(tmp_path), "--methods", "careful,ranked", "--jobs", "1", "--types", "--scripts", "--misses", "small"])
    shown = capsys.readouterr().out
    assert "FTS5, careful" in shown
    assert "hybrid" not in shown
    assert shown.count("small (") == 1
    assert "latin (" in shown
    assert "fact (" in shown


SAID = (
    "She drinks green tea in the morning.",
    "My car broke down.",
    "The engine of my car had a trouble that the garage could not find for weeks.",
)


def test_hybrid_uses_the_packaged_model_and_a_reranker_orders_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = tuple(Turn(text, "Ann", "user", text, number) for number, text in enumerate(SAID))
    question = Question("Which trouble with an automobile occurred?", "fact", frozenset(SAID[1:]), frozenset(), 0)
    conversation = Conversation("c", (Session("s", 0, turns),), (question,))
    method = partial(hybrid, embedder=LocalModel(PACKAGED))
    hits = method(conversation)(question)
    assert set(hits[:2]) == set(SAID[1:])

    class ByLength:
        sign = 1.0

        async def scores(self, query: str, documents: list[str]) -> list[float]:
            assert query == question.text
            return [self.sign * len(document) for document in documents]

    for sign in (1.0, -1.0):
        reranker = ByLength()
        reranker.sign = sign
        monkeypatch.setattr(local, "_reranker", lambda path, reranker=reranker: reranker)
        found = local.reranked(method, "model")(conversation)(question)
        assert found == sorted(hits, key=len, reverse=sign > 0)


def test_misses_of_conversations_that_are_held_back_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([str(HELD_BACK), "--misses", "work"])
    assert "nobody reads" in capsys.readouterr().err
