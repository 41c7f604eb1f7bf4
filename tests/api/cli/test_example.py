"""The example runs as its README describes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.support.programs.python import make_program, python

_FOLDER = Path(__file__).parents[3] / "examples" / "compactor"
# Its time limit is for a reader's machine, not for one that runs other tests.
_RUN = "import sys, run; run.SECONDS, sys.executable = 240, sys.argv[1]; raise SystemExit(run.main())"


def test_two_compactors_share_the_sessions(tmp_path: Path) -> None:
    make_program(tmp_path / "python")
    command = [*python(), "-c", _RUN, str(tmp_path / "python")]
    done = subprocess.run(command, cwd=_FOLDER, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = re.findall(r"^compactor-(\d) compacted (\d+) of 32 sessions$", done.stdout, re.MULTILINE)
    assert [name for name, _ in counts] == ["1", "2"]
    assert sum(int(count) for _, count in counts) >= 32
    result = re.findall(r"^compactor-\d: (trip-\d\d), (\d+) -> (\d+) tokens$", done.stdout, re.MULTILINE)
    assert {session for session, _, _ in result} == {f"trip-{number:02}" for number in range(1, 33)}
    assert all(int(after) < int(before) for _, before, after in result)
