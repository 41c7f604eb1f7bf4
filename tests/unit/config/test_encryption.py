"""The master key comes from one of three settings."""

from __future__ import annotations

import base64
import sys
from pathlib import Path
from typing import Any

import pytest

from threadkeep_server.app import master_keys
from threadkeep_server.app.master_keys import open_master_keys
from threadkeep_server.config.settings import MASK, ConfigError, load_settings
from threadkeep_server.store.sql.encryption.master_keys import key_id

KEY = base64.b64encode(bytes(32)).decode()
PRINTS = f"{sys.executable} -c \"print('{KEY}')\""


def problem(**flags: Any) -> str:
    with pytest.raises(ConfigError) as raised:
        open_master_keys(load_settings(**flags))
    assert KEY not in str(raised.value)
    return str(raised.value)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "keys"
    path.write_text(f"{KEY}\n")
    path.chmod(0o600)
    return path


def test_no_setting_is_no_encryption() -> None:
    assert open_master_keys(load_settings()) is None


def test_a_key_is_read_from_a_file_the_environment_or_a_command(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADKEEP_ENCRYPTION_KEY", KEY)
    from_environment = load_settings()
    monkeypatch.delenv("THREADKEEP_ENCRYPTION_KEY")
    for settings in (from_environment, load_settings(encryption_key_file=file), load_settings(encryption_key_command=PRINTS)):
        keys = open_master_keys(settings)
        assert keys is not None
        assert keys.current == key_id(bytes(32))
    assert from_environment.public()["encryption_key"] == MASK
    assert KEY not in repr(from_environment)


def test_a_file_that_others_may_read_is_refused(file: Path) -> None:
    file.chmod(0o644)
    assert "run: chmod 600" in problem(encryption_key_file=file)


def test_unusable_keys_name_the_setting(file: Path, tmp_path: Path) -> None:
    assert problem(encryption_key_file=tmp_path / "gone").startswith("encryption_key_file: cannot read")
    file.write_bytes(b"\xff")
    assert "is not base64" in problem(encryption_key_file=file)
    assert problem(encryption_key="hush").startswith("encryption_key: line 1 must be 32 bytes")
    assert problem(encryption_key_command="true").startswith("encryption_key_command: has no key")


def test_a_command_that_fails_is_reported_without_its_output(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "ended with status 1; run it in a shell" in problem(encryption_key_command="false")
    assert "cannot run: No such file" in problem(encryption_key_command="/no/such/program")
    assert "cannot run" in problem(encryption_key_command="'")
    monkeypatch.setattr(master_keys, "_COMMAND_WITHIN_S", 0.1)
    assert "did not end within 0.1 s" in problem(encryption_key_command="sleep 20")


def test_settings_that_contradict_each_other_are_refused(file: Path) -> None:
    assert "must not be set with encryption_key_file" in problem(encryption_key_file=file, encryption_key=KEY)
    assert "encrypted_tenants (from flag): needs a master key" in problem(encrypted_tenants="acme")
