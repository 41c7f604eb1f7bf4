"""The file of retention policies."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from threadkeep_server.config.retention import read_policies
from threadkeep_server.config.settings import ConfigError, load_settings

GOOD = """
[chats]
action = "archive"
idle = "90d"
labels = { kind = "chat" }
[drafts]
action = "delete"
age = "1d12h"
"""


def test_policies_are_read_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "policies.toml"
    path.write_text(GOOD)
    (first, chats), (second, drafts) = read_policies(path)
    assert (first, chats.action, chats.idle, chats.labels) == ("chats", "archive", timedelta(days=90), {"kind": "chat"})
    assert (second, drafts.action, drafts.age, drafts.idle) == ("drafts", "delete", timedelta(days=1.5), None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "there is no policy in"),
        ('[Chats]\naction = "delete"\nage = "1d"', "'Chats' is not a name of a policy"),
        ('[chats]\naction = "delete"', "chats: needs idle or age"),
        ('[chats]\naction = "drop"\nage = "1d"', "chats.action: input should be 'archive' or 'delete'"),
        ('[chats]\naction = "delete"\nage = "0s"', "chats.age: must be more than 0"),
        ('[chats]\naction = "delete"\nage = "1d"\nlabel = { a = "b" }', "chats.label: extra inputs are not permitted"),
    ],
)
def test_an_invalid_file_is_refused_in_one_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "policies.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        read_policies(path)
    [line] = raised.value.problems
    assert line.startswith("retention_policies_file: ")
    assert problem in line


def test_policies_need_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="retention_archive: must be set with retention_policies_file"):
        load_settings(retention_policies_file=tmp_path / "policies.toml")
