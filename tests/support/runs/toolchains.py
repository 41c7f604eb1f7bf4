"""The toolchains of the other SDKs. Tests without their toolchain are skipped, or fail if all are required."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import NoReturn

import pytest

PROGRAMS = {
    "python": ("python3",),
    "typescript": ("node", "npm"),
    "go": ("go",),
    "java": ("java", "mvn"),
    "rust": ("cargo", "cc"),
    "browser": ("chromium", "node", "npm"),
    "console": ("chromium",),
    "firefox": ("firefox-esr",),
}
"""The programs that each requires on the PATH."""
LANGUAGES = ("python", "typescript", "go", "java", "rust")
BRIEF_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of a JVM that ends after seconds: its second compiler and threads for garbage would take longer than they save."""
CLIPPY = shutil.which("clippy-driver")
"""Rust's compiler with its linter, which builds use where it is: alone, it compiles all dependencies again."""
GOFLAGS = "-buildvcs=false -trimpath -ldflags=-w"
"""Options of all of Go's builds: without paths, packages in another module cache are not compiled again; linking without debug
information takes two thirds of the time."""
BRIEF_BUILDS: Mapping[str, str] = {
    **({"RUSTC_WORKSPACE_WRAPPER": CLIPPY} if CLIPPY else {}),
    "CARGO_INCREMENTAL": "0",
    "CARGO_PROFILE_DEV_DEBUG": "0",
    "CARGO_PROFILE_DEV_CODEGEN_UNITS": "4",
    "CARGO_PROFILE_DEV_BUILD_OVERRIDE_CODEGEN_UNITS": "1",  # of macros: Cargo makes 256, which takes a sixth longer
    "GOFLAGS": GOFLAGS,
    "MAVEN_OPTS": " ".join(BRIEF_JVM),
}
"""The environment of all builds of the tests: each is built once and runs briefly. What differs here is compiled twice."""


def missing(toolchain: str) -> str | None:
    """Returns the missing parts of this toolchain as a sentence; None if it is complete."""
    lacking = [program for program in PROGRAMS[toolchain] if shutil.which(program) is None]
    if not lacking:
        return None
    return (
        f"{toolchain} is not tested: {' and '.join(lacking)} not found on the PATH; see the README for what each language needs"
    )


def require(toolchain: str) -> None:
    """Skips the test, or fails it with THREADKEEP_REQUIRE_ALL=1, if the machine cannot build for this language."""
    reason = missing(toolchain)
    if reason is not None:
        lacks(reason)


def required() -> bool:
    """Whether a test fails for what the machine lacks."""
    return os.environ.get("THREADKEEP_REQUIRE_ALL") == "1"


def lacks(reason: str) -> NoReturn:
    """Skips the test for what the machine lacks, or fails it with THREADKEEP_REQUIRE_ALL=1."""
    if required():
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
