"""The TypeScript client as users meet it: its own tests, its package installed into an empty directory, its README."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conformance.drivers import building
from tests.sdk import npm, readme
from tests.support.runs.toolchains import require
from tests.support.servers.server_process import ServerProcess

README = npm.PACKAGE / "README.md"
CONSUMER = """
import { connect, isReason, type Change, type ThreadkeepError } from "@threadkeep/client";
import { SessionService } from "@threadkeep/client/v1";
const client = connect({ address: "127.0.0.1:1", timeoutMs: 100 });
const seqs: bigint[] = [];
for await (const event of client.session("s").events()) seqs.push(event.seq);
const changes: AsyncIterable<Change> = client.watchAll({ userId: "u" }, { signal: AbortSignal.timeout(1) });
client.raw(SessionService).getSession({ session: client.session("s").ref });
const isMissing = (error: unknown) => isReason(error, "SESSION_NOT_FOUND") && error.metadata["session_id"] === "s";
// @ts-expect-error a seq is no number
const wrong: number = seqs[0];
console.log(changes, isMissing, wrong, {} as ThreadkeepError);
"""


@pytest.fixture(scope="module", autouse=True)
def toolchain() -> None:
    require("typescript")
    npm.install()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty directory into which the package was installed as the README has it."""
    folder: Path = tmp_path_factory.mktemp("typescript")
    packed = npm.packed()
    print(f"built {packed.name}, {packed.stat().st_size:,} bytes")
    home = folder / "app"
    home.mkdir()
    npm.run("npm", "init", "--yes", cwd=home)
    npm.run("npm", "install", "--no-audit", "--no-fund", "--prefer-offline", str(packed), cwd=home)
    return home


def blocks(kind: str) -> list[str]:
    """The README's blocks of a language, in order."""
    return [text for language, text in readme.blocks(README) if language == kind]


def shown_after(command: str) -> str:
    """What the README says that a command prints."""
    return README.read_text().split(command, 1)[1].split("```\n", 2)[2].split("```", 1)[0]


def test_its_own_tests_pass() -> None:
    said = npm.run("npm", "test", within=500)
    assert re.search(r"^# pass [1-9]\d+$", said, re.MULTILINE), said
    assert re.search(r"^# fail 0$", said, re.MULTILINE), said


@pytest.mark.linters
def test_everything_is_typed() -> None:
    with building("typescript"):
        npm.run("npm", "run", "check", within=500)


def test_the_lock_is_exact_and_names_no_host() -> None:
    lock, package = (json.loads((npm.PACKAGE / name).read_text()) for name in ("package-lock.json", "package.json"))
    assert "http" not in json.dumps([{k: v for k, v in each.items() if k != "funding"} for each in lock["packages"].values()])
    for name, version in (package["dependencies"] | package["devDependencies"]).items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), f"{name} is not pinned: {version}"
        assert lock["packages"][f"node_modules/{name}"]["version"] == version


def test_every_link_of_the_readme_leads_somewhere() -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", README.read_text())
    assert targets
    assert not [target for target in targets if not (npm.PACKAGE / target).exists()]


def test_the_readme_installs_what_is_packed() -> None:
    install = " ".join(blocks("sh"))
    version = json.loads((npm.PACKAGE / "package.json").read_text())["version"]
    assert f"threadkeep-client-{version}.tgz" in install
    assert "npm pack" in install


@pytest.mark.parametrize("example", ["quickstart", "agent-loop", "recall", "lifecycle", "consumer"])
def test_an_example_prints_what_the_readme_shows(installed: Path, live_server: ServerProcess, example: str) -> None:
    command = f"node node_modules/@threadkeep/client/examples/{example}.mjs"
    said = npm.run(*command.split(), cwd=installed, THREADKEEP_ADDRESS=live_server.address)
    assert said == shown_after(command)


def test_the_five_line_example_runs(installed: Path, live_server: ServerProcess) -> None:
    five = next(text for text in blocks("ts") if "connect(" in text)
    (installed / "five.mjs").write_text(five)
    said = npm.run("node", "five.mjs", cwd=installed, THREADKEEP_ADDRESS=live_server.address)
    assert said == "Is BA117 on time?\n"


def test_the_web_half_runs_where_there_is_fetch(installed: Path, live_server: ServerProcess) -> None:
    five = next(text for text in blocks("ts") if "connect(" in text)
    source = five.replace("@threadkeep/client", "@threadkeep/client/web").replace(
        "connect({", f'connect({{ address: "{live_server.http_address}", '
    )
    (installed / "web.mjs").write_text(source.replace('"trip"', '"web trip"'))
    assert npm.run("node", "web.mjs", cwd=installed) == "Is BA117 on time?\n"


@pytest.mark.linters
def test_a_program_that_imports_the_package_type_checks(installed: Path) -> None:
    (installed / "consumer.mts").write_text(CONSUMER)
    tsc = str(npm.PACKAGE / "node_modules" / "typescript" / "bin" / "tsc")
    types = str(npm.PACKAGE / "node_modules" / "@types")
    options = ("--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--typeRoots", types, "--types", "node")
    npm.run("node", tsc, *options, "--exactOptionalPropertyTypes", "consumer.mts", cwd=installed)


def test_the_package_has_the_expected_files_only(installed: Path) -> None:
    package = installed / "node_modules" / "@threadkeep" / "client"
    names = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
    others = {name for name in names if not re.fullmatch(r"dist/.*\.(js|d\.ts)|examples/.*\.mjs", name)}
    assert others == {"LICENSE", "README.md", "package.json"}
    compiled = {re.sub(r"(\.d)?\.\w+$", "", name.removeprefix("dist/")) for name in names if name.startswith("dist/")}
    sources = {npm.PACKAGE / "src": "", npm.PACKAGE / "integrations/src": "integrations/"}
    written = {
        prefix + str(path.relative_to(top).with_suffix("")) for top, prefix in sources.items() for path in top.rglob("*.ts")
    }
    assert compiled == written
