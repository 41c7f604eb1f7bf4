"""The Containerfile without building it: linted, and what the image promises. test_image.py builds and runs it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.lock import LOCKS, pins

ROOT = Path(__file__).parents[2]
CONTAINERFILE = ROOT / "deploy" / "container" / "Containerfile"


def instructions(text: str) -> list[tuple[str, str]]:
    """Returns the instructions of a Containerfile with their arguments, lines joined and comments left out."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


@pytest.fixture(scope="module")
def final() -> dict[str, list[str]]:
    """What the last stage has, by instruction."""
    found = instructions(CONTAINERFILE.read_text())
    last = max(place for place, (word, _) in enumerate(found) if word == "FROM")
    stage: dict[str, list[str]] = {}
    for word, rest in found[last:]:
        stage.setdefault(word, []).append(rest)
    return stage


def test_hadolint_finds_nothing() -> None:
    command = (str(Path(sys.executable).with_name("hadolint")), str(CONTAINERFILE))
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "")


def test_image_runs_as_another_user_and_says_how_to_probe_and_stop_it(final: dict[str, list[str]]) -> None:
    assert final["USER"] == ["65532:65532"], "Kubernetes verifies a number only"
    assert final["STOPSIGNAL"] == ["SIGTERM"]
    assert [json_form.endswith('"/opt/threadkeep/health.py"]') for json_form in final["HEALTHCHECK"]] == [True]
    assert final["ENTRYPOINT"][0].startswith("["), "a shell would not pass SIGTERM on"


def test_image_has_the_labels_of_the_specification(final: dict[str, list[str]]) -> None:
    labels = set(re.findall(r"org\.opencontainers\.image\.(\w+)=", " ".join(final["LABEL"])))
    assert labels == {"title", "description", "documentation", "licenses", "revision", "version"}


def test_last_stage_installs_nothing_and_has_a_bill_of_materials(final: dict[str, list[str]]) -> None:
    assert not [command for command in final["RUN"] if re.search(r"\b(pip|apt-get|curl)\b", command)]
    assert "--from=sbom /sbom.cdx.json /usr/share/sbom/threadkeep.cdx.json" in final["COPY"]


def test_packages_are_pinned_with_hashes() -> None:
    lock = ROOT / "deploy" / "container" / "requirements.lock"
    assert str(lock.relative_to(ROOT)) in LOCKS
    found = pins(lock.read_text())
    assert all("==" in each for each in found)
    assert lock.read_text().count("--hash=sha256:") >= len(found) > 40
    assert [
        command for word, command in instructions(CONTAINERFILE.read_text()) if word == "RUN" and "--require-hashes" in command
    ]
    everything = pins((ROOT / "requirements.lock").read_text())
    assert {each.partition(" ")[0] for each in found} <= {each.partition(" ")[0] for each in everything}, "run make lock"
