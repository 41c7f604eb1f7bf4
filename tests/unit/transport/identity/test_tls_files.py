"""The files of TLS: a change counts once certificate and key belong together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.servers.certificates import Authority
from threadkeep_server.transport import tls_files
from threadkeep_server.transport.tls_files import TlsFiles


def test_a_change_counts_when_the_files_belong_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tls_files, "_LOOKS_EVERY_S", 0.0)
    authority = Authority()
    certificate, key = authority.server(tmp_path)
    files = TlsFiles(certificate, key)
    assert not files.changed()
    old = key.read_bytes()
    authority.server(tmp_path)
    new = key.read_bytes()
    key.write_bytes(old)
    assert [files.changed(), files.changed()] == [False, False]
    key.unlink()
    assert not files.changed()
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
    key.write_bytes(new)
    assert [files.changed(), files.changed()] == [True, False]
