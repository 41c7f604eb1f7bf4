"""Updates of parts of a session, and etags."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import replace

import pytest

from tests.support.clock import NOW
from tests.support.codec import draft
from tests.support.feed import follow, kinds
from tests.support.removals import operation
from tests.support.runs.thoroughness import size
from tests.support.sessions import TENANT, append, create, ref
from threadkeep_server.domain.errors import InvalidField, OperationConflict, VersionMismatch
from threadkeep_server.domain.model import SessionChange
from threadkeep_server.domain.updates.session_updates import etag_of
from threadkeep_server.domain.validation import MAX_JSON_BYTES, MAX_LABELS
from threadkeep_server.store.contract.sessions import SessionQuery
from threadkeep_server.store.contract.store import Store


async def named(store: Store, **labels: str) -> list[str]:
    return [each.ref.session_id for each in (await store.list_sessions(TENANT, SessionQuery(labels=labels))).sessions]


class SessionUpdateRows:
    async def test_a_patch_changes_parts_of_the_metadata_and_of_the_labels(self, store: Store) -> None:
        await create(store, labels={"a": "1", "b": "2"}, metadata_json='{"n": 1.0e5, "gone": 1, "o": {"x": 1, "y": 2}}')
        patch = SessionChange(
            frozenset(),
            NOW + 5,
            metadata_patch_json='{"gone": null, "o": {"y": 3}, "new": true}',
            set_labels={"c": "3", "a": "4"},
            remove_labels=frozenset({"b", "unknown"}),
        )
        changed = await store.update_session(TENANT, ref(), patch)
        assert changed == await store.get_session(TENANT, ref())
        assert changed.metadata_json == '{"n": 1.0e5, "o": {"x": 1, "y": 3}, "new": true}'
        assert (dict(changed.labels), changed.update_time) == ({"a": "4", "c": "3"}, NOW + 5)
        assert await named(store, c="3") == ["s1"]
        assert await named(store, b="2") == []

    async def test_an_update_with_the_etag_of_before_is_refused_and_changes_nothing(self, store: Store) -> None:
        await create(store, labels={"a": "1"})
        etag = etag_of(await store.get_session(TENANT, ref()))
        await append(store, draft("an append keeps the etag"))
        relabel = SessionChange(frozenset({"labels"}), NOW, labels={"a": "2"}, etag=etag)
        changed = await store.update_session(TENANT, ref(), relabel)
        with pytest.raises(VersionMismatch):
            await store.update_session(TENANT, ref(), replace(relabel, labels={"a": "3"}))
        assert await store.get_session(TENANT, ref()) == changed

    async def test_metadata_and_labels_that_a_patch_makes_too_large_are_refused(self, store: Store) -> None:
        await create(store, labels={f"k{n}": "v" for n in range(MAX_LABELS)}, metadata_json='{"a": 1}')
        before = await store.get_session(TENANT, ref())
        large = '{"b": "' + "x" * (MAX_JSON_BYTES - 12) + '"}'
        for field, value in (("set_labels", {"one": "more"}), ("metadata_patch_json", large)):
            with pytest.raises(InvalidField, match=field):
                await store.update_session(TENANT, ref(), SessionChange(frozenset(), NOW, **{field: value}))  # type: ignore[arg-type]
        assert await store.get_session(TENANT, ref()) == before

    async def test_a_repeated_operation_changes_nothing_whatever_its_etag(self, store: Store) -> None:
        await create(store, labels={"a": "1"})
        first = SessionChange(
            frozenset({"labels"}), NOW, labels={"a": "2"}, etag=etag_of(await store.get_session(TENANT, ref()))
        )
        changed = await store.update_session(TENANT, ref(), first, operation("one"))
        later = await store.update_session(
            TENANT, ref(), SessionChange(frozenset(), NOW, set_labels={"b": "3"}), operation("two")
        )
        assert (dict(changed.labels), dict(later.labels)) == ({"a": "2"}, {"a": "2", "b": "3"})
        assert await store.update_session(TENANT, ref(), first, operation("one")) == later
        assert kinds(await follow(store)) == "created updated updated"
        with pytest.raises(OperationConflict):
            await store.update_session(TENANT, ref(), first, operation("one", b"other"))
        with pytest.raises(OperationConflict):
            await append(store, draft("x"), operation=operation("one", b"append"))
        stale = replace(first, etag="stale")
        with pytest.raises(VersionMismatch):
            await store.update_session(TENANT, ref(), stale, operation("three"))
        assert (await store.update_session(TENANT, ref(), replace(stale, etag=""), operation("three"))).labels == {"a": "2"}

    async def test_of_many_writers_with_etags_none_is_lost(self, store: Store) -> None:
        writers = size(64, 24)
        await create(store, metadata_json='{"count": 0}')

        async def count() -> None:
            while True:
                seen = await store.get_session(TENANT, ref())
                patch = json.dumps({"count": json.loads(seen.metadata_json)["count"] + 1})
                with suppress(VersionMismatch):
                    change = SessionChange(frozenset(), NOW, metadata_patch_json=patch, etag=etag_of(seen))
                    await store.update_session(TENANT, ref(), change)
                    return

        await asyncio.gather(*(count() for _ in range(writers)))
        assert json.loads((await store.get_session(TENANT, ref())).metadata_json) == {"count": writers}
