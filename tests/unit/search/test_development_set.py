"""The development set is whole: its size, its groups, and evidence that exists, which the loader checks."""

from __future__ import annotations

import pytest

from tests.recall_bench.loaders import OWN, load
from tests.recall_bench.model import Conversation

TYPES = {"fact", "temporal", "update", "preference", "multi", "said"}
GROUPS = {"assistant": 12, "work": 8, "people": 8, "fleet": 6, "languages": 6}
FOLDER = OWN.parent / "development"


@pytest.fixture(scope="module")
def groups() -> dict[str, list[Conversation]]:
    return {group: list(load(FOLDER / group)) for group in GROUPS}


def test_each_group_has_its_conversations(groups: dict[str, list[Conversation]]) -> None:
    assert {path.name for path in FOLDER.iterdir() if path.is_dir()} == set(GROUPS)
    assert {group: len(each) for group, each in groups.items()} == GROUPS


def test_questions_are_many_distinct_and_of_known_types(groups: dict[str, list[Conversation]]) -> None:
    conversations = [each for group in groups.values() for each in group]
    assert not any(each.left_out for each in conversations)
    questions = [question for each in conversations for question in each.questions]
    assert len(questions) >= 900
    assert len({question.text for question in questions}) == len(questions)
    assert {question.type for question in questions} == TYPES
    assert all(question.gold_turns for question in questions)


def test_ids_of_conversations_are_unique_with_those_of_the_own_set(groups: dict[str, list[Conversation]]) -> None:
    ids = [each.id for group in groups.values() for each in group] + [each.id for each in load(OWN)]
    assert len(set(ids)) == len(ids)
