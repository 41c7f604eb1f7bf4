from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

from tests.support.runs import cpu

ROUNDING = 0.001
BUSY = "import time\nwhile time.process_time() < 0.3: pass\nprint('done', flush=True)\ninput()"


def test_what_a_running_child_has_used_counts_and_is_not_lost_when_it_ends() -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"done\n"
        running = cpu.spent_by_this_process()
        child.communicate(b"\n")
    assert cpu.spent_by_this_process() >= running - ROUNDING
    assert running >= 0.3


def test_numbers_of_all_processes_are_added_by_folder() -> None:
    node = SimpleNamespace(workeroutput={"cpu": {"tests/api": [1.0, 2.0, 3], "tests/unit": [4.0, 5.0, 6]}})
    times = cpu.CpuTimes()
    times.pytest_testnodedown(node)
    times.pytest_testnodedown(node)
    said = [" ".join(line.split()) for line in cpu.lines(times._spent)]
    assert said == ["8.0 s in 10.0 s 12 tests tests/unit", "2.0 s in 4.0 s 6 tests tests/api", "10.0 s in all"]
