"""Storages of archives: a directory, S3 on loopback and memory are alike; and the formats of archives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.s3 import s3_server
from threadkeep_server.domain.retention.policies import Form
from threadkeep_server.providers.archives.base import Storage, StorageFailed
from threadkeep_server.providers.archives.directory import Directory
from threadkeep_server.providers.archives.forms import digest, pack, unpack
from threadkeep_server.providers.archives.objects import Objects

KEYS = {"access_key_id": "test-key", "secret_access_key": "test-secret", "region": "r", "allow_http": "true"}
NAME = "archives/tenant=a%2Fb/app=/user=\u00e9 %25/session=x/1.jsonl.gz"
LINES = (
    '{"type":"threadkeep.export","version":3}\n'
    '{"type":"session","session_id":"s1","labels":{"a":"\u2028"}}\n'
    '{"type":"event","session":"s1","seq":1,"event_id":"e1","role":"user","event":"AAEC"}\n'
    '{"type":"end","sessions":1,"events":1}\n'
)


@pytest.fixture(params=["directory", "s3", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    if request.param == "directory":
        yield Directory(tmp_path / "deep" / "archive")
    elif request.param == "memory":
        yield Objects("memory:///", {})
    else:
        with s3_server() as s3:
            yield Objects("s3://archive/below", {**KEYS, "endpoint": s3.endpoint})


async def test_objects_are_stored_listed_replaced_and_removed(storage: Storage, tmp_path: Path) -> None:
    content, into = tmp_path / "content", tmp_path / "into"
    content.write_bytes(b"x" * 100_000)
    assert await storage.get(NAME) is None
    assert await storage.fetch(NAME, into) is False
    assert list(await storage.names("archives")) == []
    await storage.remove(NAME)
    await storage.put(NAME, content)
    await storage.put("archives/tenant=b/1.json", b"one")
    await storage.put("archives/tenant=b/1.json", b"two")
    await storage.put("runs/1.json", b"")
    assert await storage.fetch(NAME, into) is True
    assert into.read_bytes() == content.read_bytes()
    assert await storage.get("archives/tenant=b/1.json") == b"two"
    assert list(await storage.names("archives")) == sorted([NAME, "archives/tenant=b/1.json"])
    assert list(await storage.names("archives/tenant=b")) == ["archives/tenant=b/1.json"]
    assert list(await storage.folders("archives")) == ["archives/tenant=a%2Fb", "archives/tenant=b"]
    assert list(await storage.folders("nowhere")) == []
    await storage.remove(NAME)
    assert await storage.get(NAME) is None
    for folder in ("archives/tenant=a%2Fb", "nowhere", "runs"):
        await storage.prune(folder)
    assert list(await storage.folders("archives")) == ["archives/tenant=b"]
    assert list(await storage.names("runs")) == ["runs/1.json"]


async def test_a_storage_that_fails_is_reported_without_its_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    with s3_server() as s3:
        wrong = Objects("s3://archive", {**KEYS, "access_key_id": "wrong-key", "endpoint": s3.endpoint})
        with pytest.raises(StorageFailed) as failed:
            await wrong.put("a/b", b"x")
        assert "the object storage failed at a/b: " in str(failed.value)
        assert "wrong-key" not in str(failed.value)
        assert "test-secret" not in str(failed.value)
        for name, value in KEYS.items():
            monkeypatch.setenv(f"AWS_{name.upper()}", value)
        monkeypatch.setenv("AWS_ENDPOINT_URL", s3.endpoint)
        await Objects("s3://archive", {"allow_http": "true"}).put("a/b", b"of the environment")
        assert s3.objects == {"a/b": b"of the environment"}


async def test_a_directory_has_no_names_outside_and_no_partial_files(tmp_path: Path) -> None:
    storage = Directory(tmp_path / "archive")
    for name in ("../x", "a/../../x", "a//b", "", "/etc/passwd/.."):
        with pytest.raises(StorageFailed):
            await storage.put(name, b"x")
    await storage.put("a/b", b"x")
    (tmp_path / "archive" / "a" / ".killed.partial").write_bytes(b"half")
    assert list(await storage.names("a")) == ["a/b"]
    await storage.prune("a")
    assert [path.name for path in (tmp_path / "archive" / "a").iterdir()] == ["b"]
    assert (tmp_path / "archive" / "a" / "b").stat().st_mode & 0o077 == 0
    with pytest.raises(StorageFailed, match=r"Is a directory|Not a directory"):
        await storage.put("a/b/c", b"x")


@pytest.mark.parametrize("form", list(Form))
def test_each_format_gives_the_lines_back_byte_for_byte_and_reports_damage(form: Form, tmp_path: Path) -> None:
    lines, packed, again = tmp_path / "lines", tmp_path / "packed", tmp_path / "again"
    lines.write_text(LINES * 1500, encoding="utf-8", newline="\n")
    pack(lines, packed, form)
    first = digest(packed)
    unpack(packed, again, form)
    assert again.read_bytes() == lines.read_bytes()
    pack(lines, packed, form)
    assert digest(packed) == first, "the same lines make the same archive"
    if form is not Form.JSON_LINES:
        packed.write_bytes(packed.read_bytes()[:-7])
        with pytest.raises(StorageFailed, match="damaged"):
            unpack(packed, again, form)


def test_columns_of_parquet_select_and_count_events(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    (tmp_path / "lines").write_text(LINES, encoding="utf-8", newline="\n")
    pack(tmp_path / "lines", tmp_path / "packed", Form.PARQUET)
    rows = pq.read_table(tmp_path / "packed", filters=[("type", "=", "event")]).to_pylist()
    assert [(row["session_id"], row["seq"], row["role"], row["event"]) for row in rows] == [("s1", 1, "user", b"\0\1\2")]
