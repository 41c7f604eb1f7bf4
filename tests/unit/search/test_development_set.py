"""The sets for tuning and for the figures are whole: groups, sizes, and evidence that exists, which loading checks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.recall_bench.groups import DEVELOPMENT, HELD_BACK
from tests.recall_bench.loaders import OWN, load
from tests.recall_bench.model import Conversation

TYPES = {"fact", "temporal", "update", "preference", "multi", "said"}
GROUPS = {
    DEVELOPMENT: {"assistant": 12, "work": 8, "people": 8, "fleet": 6, "languages": 6},
    HELD_BACK: {"assistant": 6, "work": 6, "people": 6, "fleet": 8, "languages": 6},
}
QUESTIONS = {DEVELOPMENT: 975, HELD_BACK: 796}


@pytest.fixture(scope="module")
def conversations() -> dict[Path, dict[str, list[Conversation]]]:
    return {path: {group: list(load(path / group)) for group in groups} for path, groups in GROUPS.items()}


def every(groups: dict[str, list[Conversation]]) -> Iterator[Conversation]:
    return (conversation for group in groups.values() for conversation in group)


@pytest.mark.parametrize("path", [DEVELOPMENT, HELD_BACK], ids=lambda path: path.name)
def test_a_set_is_whole(path: Path, conversations: dict[Path, dict[str, list[Conversation]]]) -> None:
    groups = conversations[path]
    assert {folder.name for folder in path.iterdir() if folder.is_dir()} == set(groups)
    assert {group: len(each) for group, each in groups.items()} == GROUPS[path]
    assert not any(each.left_out for each in every(groups))
    questions = [question for each in every(groups) for question in each.questions]
    assert len(questions) == QUESTIONS[path]
    assert len({question.text for question in questions}) == len(questions)
    assert {question.type for question in questions} == TYPES
    assert all(question.gold_turns for question in questions)


def test_ids_of_conversations_are_unique_over_all_sets(conversations: dict[Path, dict[str, list[Conversation]]]) -> None:
    ids = [each.id for groups in conversations.values() for each in every(groups)] + [each.id for each in load(OWN)]
    assert len(set(ids)) == len(ids)
