"""The Python SDK's wheel, installed and used as its README says. Its own tests are in tests/unit/sdk and tests/api."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.servers.server_process import ServerProcess

from .readme import blocks, shell

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(600)
def test_readme_from_an_empty_directory(live_server: ServerProcess, tmp_path: Path) -> None:
    packed, empty = tmp_path / "packed", tmp_path / "empty"
    empty.mkdir()
    env = os.environ | {"PACKED": str(packed), "THREADKEEP": str(ROOT), "THREADKEEP_ADDRESS": live_server.address}
    found = blocks(ROOT / "client/python/README.md")
    commands = [n for n, (language, _) in enumerate(found) if language == "sh"]
    build, install, *programs = commands
    shell(found[build][1], ROOT, env)
    (wheel,) = packed.glob("*.whl")
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes")
    shell(found[install][1], empty, env)
    assert len(programs) == 2
    for n in programs:
        assert found[n + 1][0] == ""
        assert shell(found[n][1], empty, env) == found[n + 1][1]
    five_lines = next(text for language, text in found if language == "python")
    (empty / "five.py").write_text(five_lines)
    assert shell("venv/bin/python five.py", empty, env) == "user Is BA117 on time?\nassistant Yes, it leaves at 10:05.\n"
    # What is installed is the wheel, and the SDK alone: neither the server's nor the terminal's libraries.
    where = shell("venv/bin/python -c 'import threadkeep; print(threadkeep.__file__)'", empty, env)
    assert where.startswith(str(empty))
    assert "sqlalchemy" not in shell("venv/bin/pip freeze", empty, env)
