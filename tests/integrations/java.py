"""The adapters of the Java client: builds them with the client and their frameworks, and runs their programs."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tests.conformance.drivers import build_once
from tests.integrations.environments import ROOT
from tests.integrations.programs import run

PROJECT = ROOT / "client/java/integrations"
GOLDEN = {
    "adk": "dev.threadkeep.adk.Golden",
    "langchain4j": "dev.threadkeep.langchain4j.Golden",
    "spring-ai-session": "dev.threadkeep.spring.ai.Golden",
}
"""The program of each adapter that stores messages, by its folder."""
_MAVEN = ("mvn", "-q", "-B", "-Dstyle.color=never", "-f", str(PROJECT / "pom.xml"), "test-compile")
_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
"""What makes a short program cheap."""


def adapters() -> list[str]:
    """The folders of the adapters: `threadkeep-<name>` is the artifact."""
    return sorted(path.parent.name for path in PROJECT.glob("*/pom.xml"))


def label(name: str) -> str:
    """The name of an adapter in the mapping, where those of Python are named by their modules."""
    return f"java/{name}"


@cache
def build() -> None:
    """Compiles the client, the adapters and their tests, with all warnings as errors; without network if it can."""

    def make() -> None:
        try:
            run(*_MAVEN, "--offline")
        except AssertionError:  # the first build of this machine
            run(*_MAVEN)

    build_once("java", "java-adapters", make)


def java(name: str, program: str) -> list[str]:
    """Starts a program of an adapter or of its tests."""
    build()
    target = PROJECT / name / "target"
    classes = ":".join([str(target / "test-classes"), str(target / "classes"), (target / "classpath").read_text()])
    return ["java", *_OPTIONS, "-cp", classes, program]


def golden(name: str, address: str) -> list[str]:
    """The program that writes and reads the golden conversation through an adapter, without its last arguments."""
    return [*java(name, GOLDEN[name]), address, name]


def run_tests(name: str, address: str) -> int:
    """Runs the tests of an adapter against a server. Returns how many passed: all, and at least one."""
    console = java(name, "org.junit.platform.console.ConsoleLauncher")
    tests = str(PROJECT / name / "target/test-classes")
    options = ["execute", "--scan-classpath", tests, "--details=tree", "--disable-banner", "--disable-ansi-colors"]
    said = run(*console, *options, THREADKEEP_TEST_ADDRESS=address)
    counts = {what: int(number) for number, what in re.findall(r"^\[ +(\d+) tests (\w+)", said, re.MULTILINE)}
    assert counts["found"] == counts["successful"] > 0, said
    return counts["successful"]


def example(name: str) -> Path:
    """The source of an adapter's example: the only class without a package."""
    (source,) = (PROJECT / name / "src/test/java").glob("*.java")
    return source
