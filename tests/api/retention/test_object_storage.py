"""Archives in Parquet, in object storage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.api.conftest import ServerFactory
from tests.support.servers.s3 import s3_server
from threadkeep import Client, errors, user
from threadkeep_server.config.settings import ConfigError

POLICY = '[all]\naction = "archive"\nidle = "1ms"\nformat = "parquet"\n'


def test_sessions_are_archived_to_s3_and_restored_and_stay_while_it_fails(
    start_server: ServerFactory, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    policies, options = tmp_path / "policies.toml", tmp_path / "storage.toml"
    policies.write_text(POLICY)
    with s3_server() as s3:
        options.touch(0o600)
        options.write_text(
            'access_key_id = "test-key"\nsecret_access_key = "test-secret"\nregion = "r"\nallow_http = true\n'
            f'endpoint = "{s3.endpoint}"\n'
        )
        where = {"retention_archive": "s3://archive/of/sessions", "retention_storage_file": options}
        server = start_server(data_dir=tmp_path / "data", retention_policies_file=policies, **where)
        with Client(f"127.0.0.1:{server.grpc_port}", app="shop", user_id="ann") as client:
            client.append("s1", user("hello"), create_if_missing={})
            before = client.get_event("s1", next(iter(client.events("s1"))).id).pb
            s3.failing = 403
            with pytest.raises(errors.ArchiveFailed):
                client.run_retention()
            assert client.get_session("s1").last_seq == 1
            s3.failing = 0
            [receipt] = client.run_retention().receipts
            assert receipt.archive.format == "parquet"
            assert f"of/sessions/{receipt.archive.name}" in s3.objects
            assert [
                json.loads(each)["receipt"]["outcome"] for name, each in s3.objects.items() if receipt.id + ".json" in name
            ] == ["deleted"]
            with pytest.raises(errors.SessionNotFound):
                client.get_session("s1")
            assert client.restore_session("s1").restored_events == 1
            after = next(iter(client.events("s1"))).pb
            for event in (before, after):
                event.ClearField("record_time")
            assert after == before
            s3.failing = 403
            with pytest.raises(errors.ArchiveFailed):
                client.delete_user("ann")
            s3.failing = 0
            assert client.delete_user("ann").deleted_archives == 1
            assert [name for name in s3.objects if "user=ann" in name] == []
    assert "test-secret" not in caplog.text


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"retention_archive": "s3://key:secret@bucket/x"}, "retention_archive.*must not contain credentials"),
        ({"retention_archive": "nowhere://bucket/x"}, "the storage cannot be opened"),
        ({"retention_archive": "a", "encryption_key": "A" * 43 + "="}, "archives are not encrypted; allow that with unsealed"),
    ],
)
def test_a_storage_that_cannot_be_used_is_refused_at_the_start(
    start_server: ServerFactory, tmp_path: Path, settings: dict[str, str], problem: str
) -> None:
    (tmp_path / "policies.toml").write_text(POLICY)
    with pytest.raises(ConfigError, match=problem) as raised:
        start_server(data_dir=tmp_path / "data", retention_policies_file=tmp_path / "policies.toml", **settings)
    assert "secret" not in str(raised.value)
