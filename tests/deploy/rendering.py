"""Renders the chart with Helm's engine and validates the result with kubeconform's validator, both pinned in chart/go.mod.

They are compiled as one program, without Helm's client of a cluster and without optimizing: the whole `helm` would take
twice as long. The schemas of Kubernetes are those in schemas/, which nothing needs to fetch.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.conformance.drivers import build_once

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm" / "threadkeep"
KUBERNETES = "1.37.0"
"""The version whose schemas are in schemas/."""
_HERE = Path(__file__).parent
_PROGRAM = ROOT / "build" / "chartcheck"
_BUILD = ("go", "build", "-gcflags=all=-N -l", "-ldflags=-s -w", "-o", str(_PROGRAM), ".")


@dataclass(frozen=True)
class Rendered:
    """What a set of values became: manifests by kind and name, the notes, why it was refused, what is not valid."""

    manifests: Mapping[tuple[str, str], Any]
    notes: str
    error: str
    wrong: tuple[str, ...]

    def one(self, kind: str) -> Any:
        """Returns the only manifest of this kind."""
        [found] = [each for (name, _), each in self.manifests.items() if name == kind]
        return found

    @property
    def kinds(self) -> set[str]:
        return {kind for kind, _ in self.manifests}


def render(sets: Mapping[str, Mapping[str, Any]], release: str = "threadkeep", *, upgrade: bool = False) -> dict[str, Rendered]:
    """Renders the chart once per set of values, in one process. Builds the program first if this run has not."""
    build_once("chart", "chartcheck", _build)
    requests = {name: {"values": values, "release": release, "upgrade": upgrade} for name, values in sets.items()}
    schemas = str(_HERE / "schemas" / "{{.ResourceKind}}{{.KindSuffix}}.json")
    command = (str(_PROGRAM), str(CHART), KUBERNETES, schemas)
    done = subprocess.run(command, input=json.dumps(requests), capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return {name: _rendered(answer) for name, answer in json.loads(done.stdout).items()}


def _rendered(answer: Mapping[str, Any]) -> Rendered:
    files = answer["files"] or {}
    documents = [each for name, text in files.items() if name.endswith(".yaml") for each in yaml.safe_load_all(text) if each]
    manifests = {(each["kind"], each["metadata"]["name"]): each for each in documents}
    assert len(manifests) == len(documents), "two manifests have one name"
    return Rendered(manifests, files.get("NOTES.txt", ""), answer["error"], tuple(answer["wrong"] or ()))


def _build() -> None:
    environment = os.environ | {"GOFLAGS": "-buildvcs=false", "CGO_ENABLED": "0"}
    done = subprocess.run(
        _BUILD, cwd=_HERE / "chart", env=environment, capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stderr
