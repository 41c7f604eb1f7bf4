"""The files and settings that the page on observability shows are valid."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.documents import blocks_of
from tests.support.servers.prometheus import ALERTS, program
from threadkeep_server.config.settings import load_settings

_PAGE = Path(__file__).parents[3] / "docs" / "operations" / "observability.md"


def test_configuration_of_prometheus_is_valid(tmp_path: Path) -> None:
    [block] = [block for block in blocks_of(_PAGE) if block.language == "yaml"]
    shutil.copy(ALERTS, tmp_path / "alerts.yaml")
    (tmp_path / "prometheus.yml").write_text(block.code)
    done = subprocess.run(
        (program("promtool"), "check", "config", "prometheus.yml"), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "SUCCESS: 1 rule files found" in done.stdout


def test_settings_of_traces_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command itself needs a collector: test_traces.py has one."""
    [block] = [block for block in blocks_of(_PAGE) if block.language != "yaml"]
    install, serve = block.code.splitlines()
    assert install == "pip install 'threadkeep[otel]'"
    *variables, _, _ = shlex.split(serve)
    for each in variables:
        name, _, value = each.partition("=")
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert len(variables) == 4
    assert (settings.traces_sampler, settings.traces_sampler_ratio) == ("parentbased_traceidratio", 0.01)
