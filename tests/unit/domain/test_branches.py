"""Branch visibility, as far as it needs no store."""

from __future__ import annotations

import pytest

from threadkeep_server.domain.branches import visible_from
from threadkeep_server.domain.filters import EventFilter, matches
from threadkeep_server.domain.model import EventDraft, EventFacts, Role


def sees(viewer: str, branch: str, *, synthetic: bool = False) -> bool:
    event = EventFacts(seq=1, time=1, role=Role.ASSISTANT, branch=branch, synthetic=synthetic)
    return matches(event, EventFilter(branch=viewer))


@pytest.mark.parametrize(
    ("branch", "visible"),
    [
        ("", {""}),
        ("a", {"", "a"}),
        ("a.b.c", {"", "a", "a.b", "a.b.c"}),
        ("a.a", {"", "a", "a.a"}),
    ],
)
def test_root_ancestors_and_itself_are_visible(branch: str, visible: set[str]) -> None:
    assert visible_from(branch) == visible


def test_sixty_four_segments_have_sixty_five_visible_branches() -> None:
    assert len(visible_from(".".join("x" * 64))) == 65


def test_an_event_is_on_the_root_unless_it_names_a_branch() -> None:
    assert EventDraft("e1", b"", Role.USER).branch == ""
    assert EventDraft("e1", b"", Role.USER, branch="").branch == ""
    assert EventDraft("e1", b"", Role.USER, branch="orch.researcher").branch == "orch.researcher"


def test_a_synthetic_event_is_on_the_root_by_default() -> None:
    """The summaries themselves are made by compaction, which names no branch."""
    assert EventDraft("e1", b"", Role.USER, synthetic=True).branch == ""


@pytest.mark.parametrize("branch", ["", "orch", "orch.researcher"])
def test_without_a_branch_in_the_filter_everything_is_visible(branch: str) -> None:
    assert sees("", branch)


def test_the_root_is_visible() -> None:
    assert sees("orch.researcher", "")


def test_its_own_branch_is_visible() -> None:
    assert sees("orch.researcher", "orch.researcher")


def test_an_ancestor_is_visible() -> None:
    assert sees("orch.researcher", "orch")


@pytest.mark.parametrize("branch", ["orch", "orch.researcher", "orch.researcher.summarizer"])
def test_a_deep_branch_sees_the_whole_path(branch: str) -> None:
    assert sees("orch.researcher.summarizer", branch)


def test_a_sibling_is_hidden() -> None:
    assert not sees("orch.researcher", "orch.writer")


def test_a_child_is_hidden_from_its_parent() -> None:
    assert not sees("orch", "orch.researcher")


@pytest.mark.parametrize(
    ("viewer", "branch"), [("orch.researcher", "orch.research"), ("orch.research", "orch.researcher"), ("orchestra.x", "orch")]
)
def test_a_prefix_without_the_dot_is_no_ancestor(viewer: str, branch: str) -> None:
    assert not sees(viewer, branch)


def test_a_synthetic_event_of_the_root_is_visible_and_one_of_another_branch_is_not() -> None:
    assert sees("orch.researcher", "", synthetic=True)
    assert not sees("orch.researcher", "orch.writer", synthetic=True)


@pytest.mark.parametrize(("viewer", "branch"), [("a%.x", "ab"), ("a_c.x", "abc"), ("a.x", "A"), ("%", "abc"), ("___", "abc")])
def test_branch_names_are_literal(viewer: str, branch: str) -> None:
    assert not sees(viewer, branch)
    assert sees(viewer, viewer)
