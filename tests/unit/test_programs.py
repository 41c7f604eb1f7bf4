"""A program that begins with its imports done is like one of `python`: arguments, files, exit codes and signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.programs.python import make_program, python

SHOW = "import os, sys; print(sys.argv[1:], sys.stdin.read(), os.environ['SET'], os.getcwd()); print('é', file=sys.stderr)"
WAIT = "import os, time; print(os.getpid(), flush=True); time.sleep(100)"


def run(*arguments: str, said: str = "", folder: Path | None = None, program: tuple[str, ...] = ()) -> tuple[int, str, str]:
    env = os.environ | {"SET": "value"}
    command = [*(program or python()), *arguments]
    done = subprocess.run(command, input=said, env=env, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def test_arguments_files_and_environment_are_the_callers(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(SHOW)
    for arguments in (("-c", SHOW), (str(file),)):
        shown = run(*arguments, "a", "b c", said="read", folder=tmp_path)
        assert shown == (0, f"['a', 'b c'] read value {tmp_path}\n", "é\n")
    make_program(tmp_path / "python", "-c")
    assert run("print(__name__)", program=(str(tmp_path / "python"),)) == (0, "__main__\n", "")


@pytest.mark.parametrize("end", ["raise SystemExit(7)", "raise SystemExit('no')", "1 / 0", "raise KeyboardInterrupt", "pass"])
def test_the_exit_code_is_that_of_python(end: str) -> None:
    assert run("-c", end)[0] == run("-c", end, program=(sys.executable,))[0]


def test_a_module_runs_as_the_main_one(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("import sys; print(__name__, sys.modules['__main__'].__file__, sys.argv)")
    file = str(tmp_path / "own.py")
    assert run("-m", "own", "x", folder=tmp_path) == (0, f"__main__ {file} {[file, 'x']}\n", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_the_program(number: signal.Signals) -> None:
    with subprocess.Popen([*python(), "-c", WAIT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as started:
        assert started.stdout is not None
        pid = int(started.stdout.readline())
        started.send_signal(number)
        assert started.wait(60) == -number
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline, "it still runs"
        time.sleep(0.01)
