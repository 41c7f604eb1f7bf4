from __future__ import annotations

from typing import Any

import pytest

import threadkeep
from threadkeep import AuthorFilter, Authors, AuthorSet, ContextMode, ContextSpec, MemoryProvider

from .fake import FakeServer

WINDOW = MemoryProvider.limited_window()


@pytest.mark.parametrize(
    ("provider", "mode", "reads", "writes"),
    [
        (WINDOW, "READ_WRITE", True, True),
        (WINDOW.read_only(), "READ_ONLY", True, False),
        (WINDOW.write_only(), "WRITE_ONLY", False, True),
        (WINDOW.write_only().read_only(), "READ_ONLY", True, False),
        (MemoryProvider.none(), "NONE", False, False),
        (MemoryProvider(), "UNSPECIFIED", True, True),
    ],
)
def test_access_of_readers_and_writers(provider: MemoryProvider, mode: str, reads: bool, writes: bool) -> None:
    assert provider.spec.mode == ContextMode.Value(f"CONTEXT_MODE_{mode}")
    assert (provider.reads, provider.writes) == (reads, writes)


def test_a_provider_compiles_to_a_spec() -> None:
    chain = Authors.include(["planner"], roles=["researcher"]).exclude(roles=["critic"]).include(["extra"])
    provider = (
        WINDOW.read_only()
        .read_last(20, chain)
        .max_turns(5)
        .max_tokens(4000)
        .max_bytes(9000)
        .on_branch("a.b")
        .with_author_roles({"planner": "boss"})
        .without_system()
    )
    assert provider.spec == ContextSpec(
        mode=ContextMode.CONTEXT_MODE_READ_ONLY,
        author_filters=[
            AuthorFilter(include=AuthorSet(ids=["planner"], roles=["researcher"])),
            AuthorFilter(exclude=AuthorSet(roles=["critic"])),
            AuthorFilter(include=AuthorSet(ids=["extra"])),
        ],
        author_roles={"planner": "boss"},
        last_n=20,
        max_turns=5,
        max_tokens=4000,
        max_bytes=9000,
        branch="a.b",
        exclude_system=True,
    )


def test_read_last_and_filters_combine_in_any_order() -> None:
    only = Authors.include(["a"])
    assert WINDOW.read_last(3).filtered(only) == WINDOW.filtered(only).read_last(3) == WINDOW.read_last(3, only)
    assert WINDOW.read_last(3).read_last(5).spec.last_n == 5
    more = WINDOW.filtered(only).filtered(Authors.exclude(["b"]))
    assert list(more.spec.author_filters) == list(Authors.include(["a"]).exclude(["b"]).steps)


def test_every_call_gives_a_fresh_provider_and_a_fresh_chain() -> None:
    narrow = WINDOW.read_last(1)
    spec = narrow.spec
    spec.last_n = 9
    assert (narrow.spec.last_n, WINDOW.spec.HasField("last_n")) == (1, False)
    given = ContextSpec(last_n=2)
    taken = MemoryProvider(given)
    given.last_n = 3
    assert taken.spec.last_n == 2
    chain = Authors.include(["a"])
    longer = chain.exclude(["b"])
    assert (len(chain.steps), len(longer.steps), len(Authors.exclude(["c"]).steps)) == (1, 2, 1)
    assert chain != longer
    assert chain == Authors([AuthorFilter(include=AuthorSet(ids=["a"]))])


async def test_a_context_is_requested_by_provider_spec_or_fields(client: Any, fake: FakeServer) -> None:
    spec = ContextSpec(last_n=3, branch="x")
    await client.get_context("s1")
    await client.get_context("s1", spec)
    await client.get_context("s1", last_n=3, branch="x")
    await client.get_context("s1", MemoryProvider(spec))
    plain, *others = fake.requests("GetContext")
    assert plain.session == threadkeep.SessionRef(app="shop", user_id="alice", session_id="s1")
    assert not plain.HasField("spec")
    assert [request.spec for request in others] == [spec] * 3
    with pytest.raises(ValueError, match="not both: last_n"):
        await client.get_context("s1", spec, last_n=3)
    with pytest.raises(TypeError, match="spec must be ContextSpec, not dict"):
        await client.get_context("s1", {"last_n": 3})


async def test_a_participant_that_may_not_write_appends_nothing(client: Any, fake: FakeServer) -> None:
    for provider in (WINDOW.read_only(), MemoryProvider.none()):
        answer = await client.append("s1", threadkeep.user("hi"), memory=provider, create_if_missing=True)
        assert answer == threadkeep.AppendEventsResponse()
    assert fake.requests("AppendEvents") == []
    for provider in (WINDOW, WINDOW.write_only()):
        await client.append("s1", threadkeep.user("hi"), memory=provider)
    assert len(fake.requests("AppendEvents")) == 2


async def test_a_session_with_a_provider_reads_and_drops_as_it_says(client: Any, fake: FakeServer) -> None:
    session = client.session("trip")
    provider = WINDOW.read_only().max_turns(3)
    critic = session.with_memory(provider)
    await critic.append(threadkeep.user("dropped"))
    assert fake.requests("AppendEvents") == []
    await critic.get_context()
    await critic.get_context(as_of_seq=4)
    await critic.get_context(max_turns=1)
    own, then, other = fake.requests("GetContext")
    assert (own.spec, then.spec, then.as_of_seq) == (provider.spec, provider.spec, 4)
    assert (other.spec.max_turns, other.spec.mode) == (1, 0), "arguments say what is read"
    await critic.append(threadkeep.user("kept"), memory=WINDOW)
    await session.append(threadkeep.user("kept"))
    assert len(fake.requests("AppendEvents")) == 2, "the handle that it was made of is not changed"
