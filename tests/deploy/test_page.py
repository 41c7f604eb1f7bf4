"""Every command of the page on deployment is run by a test, or the reason why not is here."""

from __future__ import annotations

from pathlib import Path

from tools import release

from tests.support.documents import blocks_of

_ROOT = Path(__file__).parents[2]
_PAGE = _ROOT / "docs" / "operations" / "deployment.md"
_HERE = "tests/deploy"
RUN_BY = {
    "make release-files": f"{_HERE}/test_release.py",
    "uv build --wheel": f"{_HERE}/test_wheel.py",
    "uvx --from": f"{_HERE}/test_wheel.py",
    "podman build": f"{_HERE}/test_image.py",  # with buildah, which podman builds with
    "podman run": f"{_HERE}/test_image.py",  # with bubblewrap; the file says why
    "helm install": f"{_HERE}/test_chart.py",  # with Helm's engine, without a cluster
    "docker compose": f"{_HERE}/test_compose.py",  # validated: no other image can be fetched
    ".venv/bin/threadkeep serve --database-url": "tests/store/engines/test_postgres.py",
}
NOT_RUN = {
    "export POSTGRES_PASSWORD": "sets the variables of the next command; test_compose.py compares their names",
    "kubectl create secret": "needs a cluster; test_chart.py has the names and keys of the Secrets",
    "sudo ": "needs systemd; test_unit.py verifies the unit and runs its command, test_wheel.py installs the wheel",
}


def commands() -> list[str]:
    """Returns the commands of the blocks, continued lines joined."""
    blocks = [block.code for block in blocks_of(_PAGE) if block.language in {"console", "sh"}]
    return [line for code in blocks for line in code.replace("\\\n", " ").splitlines() if line]


def test_every_command_is_run_or_says_why_not() -> None:
    found = commands()
    assert len(found) >= 15
    assert [line for line in found if not line.startswith((*RUN_BY, *NOT_RUN))] == []
    for beginning, test in RUN_BY.items():
        assert any(line.startswith(beginning) for line in found), f"{beginning} is not on the page"
        assert (_ROOT / test).is_file()


def test_files_and_versions_of_the_commands_exist() -> None:
    words = [word.strip('"') for line in commands() for word in line.split()]
    paths = [word for word in words if word.startswith("deploy/")]
    assert len(paths) >= 5
    assert [path for path in paths if not (_ROOT / path).exists()] == []
    wheels = {word.partition("[")[0] for word in words if ".whl" in word}
    assert wheels == {f"dist/threadkeep-{release.versions()}-py3-none-any.whl"}
