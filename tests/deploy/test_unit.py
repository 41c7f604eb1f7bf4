"""The systemd unit: valid, hardened, and its command serves with what the unit leaves it.

systemd itself does not run in CI. Its namespaces are made here by bubblewrap: the root that is read-only, the user, the private
/tmp and /dev, no capability. Its filters of system calls and of memory mappings are not: only systemd
makes them.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.support.servers.server_process import free_port
from threadkeep import Client, user
from threadkeep_server.config.settings import Settings

from .programs import require_namespaces, require_programs
from .sandbox import STATE, Sandboxed, machine_root

SYSTEMD = Path(__file__).parents[2] / "deploy" / "systemd"
UNIT = SYSTEMD / "threadkeep.service"
MOST_EXPOSURE = 1.5
"""Of 10, which a unit without any restriction has."""
ENVIRONMENT = Path(sys.executable).parents[1]


def values(name: str) -> list[str]:
    """Returns what the unit has under this name, in order."""
    return re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.MULTILINE)


def test_unit_is_valid_and_hardened(tmp_path: Path) -> None:
    require_programs("systemd-analyze")
    copy = tmp_path / UNIT.name  # where the program that the unit starts exists
    copy.write_text(UNIT.read_text().replace("/opt/threadkeep", str(ENVIRONMENT)))
    verified = run("systemd-analyze", "verify", "--man=no", str(copy))
    assert verified.returncode == 0, verified.stderr
    assert str(copy) not in verified.stderr, verified.stderr
    rated = run("systemd-analyze", "security", "--offline=true", f"--threshold={MOST_EXPOSURE * 10:.0f}", str(copy))
    assert rated.returncode == 0, rated.stdout


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_user_of_the_unit_is_declared() -> None:
    assert f"u {values('User')[0]} " in (SYSTEMD / "threadkeep.sysusers").read_text()


def test_command_of_the_unit_serves_with_a_root_that_is_read_only(tmp_path: Path) -> None:
    require_namespaces()
    assert values("ProtectSystem") == ["strict"]
    assert f"/var/lib/{values('StateDirectory')[0]}" == STATE
    settings = tmp_path / "etc"
    settings.mkdir()
    grpc, http = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    (settings / "threadkeep.toml").write_text(f'grpc_address = "{grpc}"\nhttp_address = "{http}"\nlog_format = "text"\n')
    variables = dict(each.split("=", 1) for line in values("Environment") for each in shlex.split(line))
    # The unit's working directory is where the settings are; bubblewrap starts the program in its state.
    variables["THREADKEEP_CONFIG"] = f"{values('WorkingDirectory')[0]}/threadkeep.toml"
    root = machine_root(f"{ENVIRONMENT}:/opt/threadkeep", f"{settings}:{values('WorkingDirectory')[0]}")
    [command] = values("ExecStart")
    with Sandboxed(shlex.split(command), root, tmp_path, variables) as server:
        server.wait_until_ready(http)
        status = Path(f"/proc/{server.pid}/status").read_text()
        assert re.search(r"^CapEff:\t0+$", status, re.MULTILINE), status
        mounts = Path(f"/proc/{server.pid}/mountinfo").read_text()
        assert writable(mounts) <= {STATE, "/tmp", "/dev", "/dev/pts", "/dev/shm", "/proc"}, mounts
        with Client(grpc, app="a", user_id="u") as client:
            client.append("s", user("kept"), create_if_missing=True)
        assert server.stop() == 0, server.log
    assert (tmp_path / "data" / "threadkeep.db").exists()


def writable(mounts: str) -> set[str]:
    """Returns where a process can write, from its /proc/PID/mountinfo; devices aside."""
    found = {fields[4] for fields in map(str.split, mounts.splitlines()) if fields[5].split(",")[0] == "rw"}
    return {each for each in found if not re.fullmatch(r"/dev/[a-z]+\d*", each)} | (found & {"/dev/shm", "/dev/pts"})


def test_unit_waits_longer_than_the_server_drains() -> None:
    assert float(values("TimeoutStopSec")[0]) > Settings().drain_grace.total_seconds()
