"""A release: its versions agree, its notes are written, its files install (`make release-check`), and its workflow."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools import release

from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import LONG
from tests.support.runs.toolchains import require

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"


def test_every_place_names_one_version() -> None:
    version = release.versions()
    assert release.versions(tag=f"v{version}") == version
    with pytest.raises(release.ReleaseError, match=r"the tag has 9\.9\.9"):
        release.versions(tag="v9.9.9")


@pytest.mark.parametrize("changed", ["client/rust/Cargo.toml", "client/java/README.md", "client/go/integrations/eino/go.mod"])
def test_a_place_with_another_version_is_named(tmp_path: Path, changed: str) -> None:
    for path in {path for pattern in release._PLACES for path in ROOT.glob(pattern)}:
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    other = tmp_path / changed
    named = re.compile(rf"(threadkeep.*v|^version = \"|<version>){release.versions()}", re.MULTILINE)
    other.write_text(named.sub(r"\g<1>9.9.9", other.read_text()))
    with pytest.raises(release.ReleaseError, match=rf"but {changed} has 9\.9\.9$"):
        release.versions(tmp_path)


def test_notes_are_the_section_of_the_version() -> None:
    changelog = "# Changelog\n\n## [Unreleased]\n\n### Added\n- b\n\n## [0.1.0] - 2026-01-01\n- a\n"
    assert release.notes(changelog, "0.1.0") == "- a"
    assert release.notes(changelog, "0.2.0") == "### Added\n- b"
    with pytest.raises(release.ReleaseError):
        release.notes("## [Unreleased]\n", "0.2.0")
    assert release.notes((ROOT / "CHANGELOG.md").read_text(), release.versions())


def test_files_are_verified_by_their_checksums(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / release.SUMS).write_text("ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a\n")
    assert release.verify(tmp_path) == 1
    (tmp_path / "b").touch()
    with pytest.raises(release.ReleaseError, match="not as named: b"):
        release.verify(tmp_path)
    (tmp_path / "b").unlink()
    (tmp_path / "a").write_text("b")
    with pytest.raises(release.ReleaseError, match="a is not what"):
        release.verify(tmp_path)


@pytest.mark.skipif(not LONG, reason="it packs every client")
@pytest.mark.timeout(1800)
def test_every_file_is_built(tmp_path: Path, say: Say) -> None:
    for toolchain in ("typescript", "go", "java", "rust"):
        require(toolchain)
    folder = tmp_path / "dist"
    make = ("make", "--no-print-directory", "release-files", f"DIST={folder}", f"TAG=v{release.versions()}")
    done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    files = sorted(path for path in folder.iterdir() if path.name != release.SUMS)
    assert release.verify(folder) == len(files) == 7
    for path in files:
        say(f"release: {path.name}, {path.stat().st_size:,} bytes")
    names = {path.name for path in files}
    version = release.versions()
    assert {f"threadkeep-{version}.crate", f"threadkeep-client-{version}.jar", f"threadkeep-go-{version}.tar.gz"} <= names
    assert (tmp_path / "notes.md").read_text().strip()


@pytest.fixture(scope="module")
def jobs() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    return found


def test_workflow_publishes_what_was_checked(jobs: dict[str, Any]) -> None:
    assert jobs["publish"]["needs"] == ["check", "image"]
    commands = {name: [step.get("run", "") for step in job["steps"]] for name, job in jobs.items()}
    checked, made = (commands["check"].index(f'make release-{what} TAG="$GITHUB_REF_NAME"') for what in ("check", "files"))
    assert checked < made
    assert commands["publish"][0:5].count("python3 tools/release.py verify dist") == 1
    everything = "\n".join(each for steps in commands.values() for each in steps)
    for client in ("uv publish", "npm publish", "cargo publish", "mvn --batch-mode deploy", "git tag", "buildah manifest push"):
        assert client in everything
    modules = re.findall(r"client/go\S*", next(each for each in commands["publish"] if "git tag" in each).replace(";", ""))
    assert {ROOT / each for each in modules} == {path.parent for path in (ROOT / "client/go").rglob("go.mod") if _ours(path)}


def _ours(manifest: Path) -> bool:
    return ".build" not in manifest.parts


def test_every_command_of_the_workflow_is_one_of_bash(jobs: dict[str, Any]) -> None:
    for job in jobs.values():
        assert job["timeout-minutes"] <= 120
        for step in job["steps"]:
            if script := step.get("run"):
                checked = subprocess.run(("bash", "-n"), input=script, text=True, capture_output=True, check=False)
                assert checked.returncode == 0, checked.stderr
            else:
                assert re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"])


@pytest.mark.skipif(not LONG, reason="it compiles the linter of workflows; `make release-check` runs it")
def test_the_workflow_passes_its_linter(tmp_path: Path) -> None:
    require("go")
    program = ROOT / "build" / "actionlint"
    build = ("go", "build", "-o", str(program), "github.com/rhysd/actionlint/cmd/actionlint")
    subprocess.run(build, cwd=Path(__file__).parent / "workflow", check=True, timeout=600)

    def linted(workflow: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run((program, "-no-color", workflow), capture_output=True, text=True, check=False)

    assert linted(WORKFLOW).stdout == ""
    wrong = tmp_path / "release.yml"
    wrong.write_text(WORKFLOW.read_text().replace("needs: check", "needs: chekc"))
    done = linted(wrong)
    assert done.returncode == 1
    assert "chekc" in done.stdout


def test_make_targets_and_tools_of_the_workflow_exist(jobs: dict[str, Any]) -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    lines = [line for job in jobs.values() for step in job["steps"] for line in step.get("run", "").splitlines()]
    made = [shlex.split(line)[1] for line in lines if line.startswith("make ")]
    assert made
    assert set(made) <= targets
    tools = {shlex.split(line)[2] for line in lines if re.match(r"(\.venv/bin/python|python3) tools/release\.py ", line)}
    assert tools == {"verify"}


def test_command_ends_with_the_reason() -> None:
    command = (sys.executable, "tools/release.py", "versions", "v9.9.9")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("but the tag has 9.9.9\n")
