from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.runs import bytecode

NAMES = [f"test_{number:02}.py" for number in range(60)]


class Collecting:
    """Stands in for the processes that collect."""

    def __init__(self) -> None:
        self.files: list[list[str]] = []

    def __call__(self, command: list[str], **_: Any) -> Any:
        self.files.append([Path(each).name for each in command if each.endswith(".py")])
        return SimpleNamespace(wait=lambda: 0)


@pytest.fixture
def collecting(monkeypatch: pytest.MonkeyPatch) -> Collecting:
    made = Collecting()
    monkeypatch.setattr(subprocess, "Popen", made)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).write_text("assert True\n")
    return tmp_path


def config_of(folder: Path, processes: int | None, **more: object) -> Any:
    params = SimpleNamespace(dir=folder.parent)
    return SimpleNamespace(
        getoption=lambda *_: processes, args=[folder.name], invocation_params=params, rootpath=folder, **more
    )


def test_all_files_are_collected_once_in_two_processes(folder: Path, collecting: Collecting) -> None:
    bytecode.compile_first(config_of(folder, 4))
    assert collecting.files == [NAMES[:30], NAMES[30:]]


def test_nothing_is_collected_in_one_process_nor_in_a_test_process(folder: Path, collecting: Collecting) -> None:
    for config in (config_of(folder, None), config_of(folder, 0), config_of(folder, 4, workerinput={})):
        bytecode.compile_first(config)
    assert collecting.files == []


def test_nothing_is_collected_if_most_are_compiled_and_have_not_changed(folder: Path, collecting: Collecting) -> None:
    (folder / "__pycache__").mkdir()
    for name in NAMES:
        (folder / "__pycache__" / f"{Path(name).stem}.cpython-311-pytest-9.2.0.pyc").write_bytes(b"")
    bytecode.compile_first(config_of(folder, 4))
    assert collecting.files == []
    for name in NAMES:
        os.utime(folder / name, (4e9, 4e9))
    bytecode.compile_first(config_of(folder, 4))
    assert len(collecting.files) == 2
