"""The nouns: what starts a turn, what is counted."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from threadkeep.v1 import message_pb2
from threadkeep_server.domain.model import Counters, EventDraft, EventFacts, Role, SessionRef, Usage


@pytest.mark.parametrize(
    ("role", "synthetic", "branch", "starts"),
    [
        (Role.USER, False, "", True),
        (Role.USER, True, "", False),
        (Role.USER, False, "orch", False),
        (Role.ASSISTANT, False, "", False),
        (Role.SYSTEM, False, "", False),
        (Role.TOOL, False, "", False),
    ],
)
def test_a_real_user_event_on_the_root_starts_a_turn(role: Role, synthetic: bool, branch: str, starts: bool) -> None:
    draft = EventDraft("e1", b"12345", role, branch=branch, synthetic=synthetic, token_estimate=7)
    assert draft.turn_start is starts
    assert EventFacts(1, 1, role, branch=branch, synthetic=synthetic).turn_start is starts
    assert draft.counters == Counters(events=1, turns=int(starts), bytes=5, tokens=7)


@pytest.mark.parametrize(
    ("app", "user", "bare"), [("", "", True), ("shop", "", False), ("", "alice", False), ("shop", "alice", False)]
)
def test_a_ref_with_neither_app_nor_user_is_bare(app: str, user: str, bare: bool) -> None:
    assert SessionRef(app, user, "s1").is_bare is bare


def test_the_roles_are_those_of_the_protocol() -> None:
    protocol = {name.removeprefix("ROLE_"): number for name, number in message_pb2.Role.items()}
    assert protocol.pop("UNSPECIFIED") == 0
    assert {role.name: role.value for role in Role} == protocol


@pytest.mark.parametrize("kind", [Counters, Usage])
def test_adding_adds_every_field(kind: type[Any]) -> None:
    names = [each.name for each in dataclasses.fields(kind)]
    one = kind(**{name: index + 1 for index, name in enumerate(names)})
    other = kind(**{name: 100 * (index + 1) for index, name in enumerate(names)})
    assert one + other == kind(**{name: 101 * (index + 1) for index, name in enumerate(names)})
    assert one + kind() == one
