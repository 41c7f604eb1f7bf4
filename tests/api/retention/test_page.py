"""The policies and the commands of the page on retention work as it says."""

from __future__ import annotations

import gzip
import shlex
from pathlib import Path

import pytest

from tests.api.conftest import running
from tests.support.documents import blocks_of
from threadkeep import Client, SessionRef, user
from threadkeep.cli import main
from threadkeep_server.domain.retention.policies import Form
from threadkeep_server.providers.archives.forms import pack

_PAGE = Path(__file__).parents[3] / "docs" / "operations" / "retention.md"
_OTHERS = {
    "access_key_id": "test_object_storage.py",
    "import pyarrow": "test_lines_of_a_parquet_file",
    "gunzip -c ID.jsonl.gz | threadkeep import -": "below, with the file's name",
}
"""Blocks that this test does not take as they are, by what they begin with."""
_REF = SessionRef(app="shop", user_id="ann", session_id="s1")


def test_policies_and_commands_of_the_page(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    blocks = [block for block in blocks_of(_PAGE) if block.language != "text"]
    policies, commands, *others = sorted(blocks, key=lambda block: not block.code.startswith(("[chats]", "threadkeep")))
    assert [block for block in others if not block.code.startswith(tuple(_OTHERS))] == []
    file, archive = tmp_path / "policies.toml", tmp_path / "archive"
    file.write_text(policies.code.replace("90d", "1ms").replace("30d", "1ms"))
    with running(data_dir=tmp_path, retention_policies_file=file, retention_archive=str(archive)) as server:
        address = f"127.0.0.1:{server.grpc_port}"
        with Client(address) as client:
            client.append(_REF, user("hello"), create_if_missing={"labels": {"kind": "chat"}})
            for line in commands.code.splitlines():
                confirmed = ["--yes"] if line.startswith("threadkeep retention run") else []
                assert main([*shlex.split(line, comments=True)[1:], *confirmed, "--address", address]) == 0, line
            shown = capfd.readouterr().out
            assert "chats: 1 session, 1 event" in shown
            assert "restored session s1: 1 event" in shown
            [packed] = archive.glob("archives/tenant=default/app=shop/user=ann/session=s1/*.jsonl.gz")
            client.delete_session(_REF)
            lines = tmp_path / "lines.jsonl"
            lines.write_bytes(gzip.decompress(packed.read_bytes()))
            assert main(["import", str(lines), "--address", address]) == 0
            assert [event.text for event in client.events(_REF)] == ["hello"]


def test_lines_of_a_parquet_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [block] = [block for block in blocks_of(_PAGE) if block.language == "python"]
    with running(data_dir=tmp_path) as server:
        address = f"127.0.0.1:{server.grpc_port}"
        with Client(address) as client:
            client.append(_REF, user("hello"), user("a line\u2028of two"), create_if_missing=True)
        lines = tmp_path / "lines.jsonl"
        assert main(["export", "--user", "ann", "-o", str(lines), "--address", address]) == 0
    pack(lines, tmp_path / "ID.parquet", Form.PARQUET)
    monkeypatch.chdir(tmp_path)
    exec(compile(block.code, str(_PAGE), "exec"), {})
    assert (tmp_path / "s1.jsonl").read_bytes() == lines.read_bytes()
