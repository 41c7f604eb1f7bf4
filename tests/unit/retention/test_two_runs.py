"""Two runs at a time, as of two servers, lose nothing."""

from __future__ import annotations

import asyncio
from itertools import count
from pathlib import Path

from tests.support.clock import NOW
from tests.support.codec import CODEC
from threadkeep_server.domain.model import NewSession, Session, SessionRef
from threadkeep_server.domain.retention.policies import Action, Form, RetentionPolicy
from threadkeep_server.domain.retention.receipts import Outcome
from threadkeep_server.providers.archives.directory import Directory
from threadkeep_server.service.retention.archive import Archive
from threadkeep_server.service.retention.paths import Named
from threadkeep_server.service.retention.runner import BeforeDelete, Restored, RetentionRunner
from threadkeep_server.store.inmemory import InMemoryStore

REF = SessionRef("shop", "ann", "s1")
LINES = b'{"a session": 1}\n'
_ids = count()


class OneLine:
    """Writes the same line for every session."""

    async def write(self, _tenant: str, _ref: SessionRef, into: Path) -> int:
        await asyncio.to_thread(into.write_bytes, LINES)
        return 0

    async def read(self, _tenant: str, _lines: Path) -> Restored:
        raise NotImplementedError


async def test_a_run_that_settles_what_another_is_about_to_delete_leaves_its_archive(tmp_path: Path) -> None:
    store, archive = InMemoryStore(CODEC), Archive(Directory(tmp_path), bytes(32))
    await store.create_session("acme", NewSession(REF, "u1", NOW - 100, None), return_existing=False)

    def runner(before_delete: BeforeDelete | None = None) -> RetentionRunner:
        policies = [RetentionPolicy("p", Action.ARCHIVE, Form.JSON_LINES_GZIP, idle=10)]
        return RetentionRunner(
            store, archive, OneLine(), policies, lambda: NOW, lambda: f"{next(_ids):08}", before_delete=before_delete
        )

    async def other_run_settles(tenant: str, _: Session) -> bool:
        assert await runner().settle(tenant) == []
        [changed] = await archive.receipts(tenant, Named(), 10)
        assert changed.outcome is Outcome.CHANGED
        return True

    run = await runner(other_run_settles).run("acme", 10)
    assert run.counts() == {"deleted": 1}
    receipt = await archive.archived("acme", REF)
    assert receipt is not None
    assert receipt.outcome is Outcome.DELETED
    assert receipt.archive is not None
    await archive.fetch(receipt.archive, tmp_path / "lines")
    assert await asyncio.to_thread((tmp_path / "lines").read_bytes) == LINES
    assert await archive.pending("acme") == []
