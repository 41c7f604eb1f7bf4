"""What a release is made of: its versions, its notes, its files with checksums. `make release-check` tries all of it.

`python tools/release.py versions [TAG]`   fails unless every place, and the tag, name one version; prints it
`python tools/release.py notes`            prints the section of CHANGELOG.md of that version; otherwise what is unreleased
`python tools/release.py build FOLDER`     writes the wheel, npm package, crate, jar, Go modules, chart, and SHA256SUMS
`python tools/release.py verify FOLDER`    fails unless FOLDER has what SHA256SUMS names, and nothing else
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUMS = "SHA256SUMS"
_VERSION = r"(\d+\.\d+\.\d+)"
_IN_TEXT = rf"threadkeep(?:-[a-z-]+)?(?:/integrations/\w+/\.\.\.)?[-:@]v?{_VERSION}|^ *<version>{_VERSION}<"
_POM = rf"^ {{2,4}}<version>{_VERSION}</version>$"
_PLACES: Mapping[str, str] = {
    "pyproject.toml": rf'^version = "{_VERSION}"$',
    "client/typescript/package.json": rf'^  "version": "{_VERSION}",$',
    "client/typescript/src/version.ts": rf'VERSION = "{_VERSION}"',
    "client/console/package.json": rf'^  "version": "{_VERSION}",$',
    "client/rust/Cargo.toml": rf'^version = "{_VERSION}"$',
    "client/rust/integrations/*/Cargo.toml": rf'^(?:threadkeep = {{ )?version = "{_VERSION}"',
    "client/java/pom.xml": _POM,
    "client/java/integrations/pom.xml": _POM,
    "client/java/integrations/*/pom.xml": _POM,
    "client/java/src/main/java/dev/threadkeep/ThreadkeepClient.java": rf'String VERSION = "{_VERSION}"',
    "client/go/doc.go": rf'^const Version = "{_VERSION}"$',
    "client/go/integrations/*/go.mod": rf"threadkeep-go v{_VERSION}$",
    "client/*/README.md": _IN_TEXT,
    "client/java/integrations/*/README.md": _IN_TEXT,
    "docs/integrations/*-java.md": _IN_TEXT,
    "docs/integrations/eino.md": _IN_TEXT,
    "docs/integrations/langchaingo.md": _IN_TEXT,
    "docs/operations/deployment.md": _IN_TEXT,
    "deploy/compose/compose.yaml": rf"THREADKEEP_VERSION:-{_VERSION}}}",
    "deploy/helm/threadkeep/Chart.yaml": rf"^(?:version|appVersion): {_VERSION}$",
    "deploy/container/Containerfile": rf"^ARG VERSION={_VERSION}$",
}
"""Where the version is written, and how. Go modules have the version of their tag."""


class ReleaseError(Exception):
    """A release that must not be made, with the reason."""


def versions(root: Path = ROOT, tag: str = "") -> str:
    """Returns the version that every place names. Raises ReleaseError if one differs, or the tag, such as `v0.2.0`, does."""
    found: dict[str, str] = {}
    for pattern, form in _PLACES.items():
        files = sorted(root.glob(pattern))
        named = {path: re.findall(form, path.read_text(), re.MULTILINE) for path in files}
        if not any(named.values()):
            raise ReleaseError(f"{pattern} names no version")
        for path, matches in named.items():
            versions_of = {match if isinstance(match, str) else "".join(match) for match in matches}
            found |= {f"{path.relative_to(root)} ({version})": version for version in versions_of}
    if tag:
        found["the tag"] = tag.removeprefix("v")
    if len(set(found.values())) > 1:
        usual = Counter(found.values()).most_common(1)[0][0]
        others = [f"{name.partition(' (')[0]} has {version}" for name, version in found.items() if version != usual]
        raise ReleaseError(f"the version is {usual}, but {', '.join(others)}")
    return next(iter(found.values()))


def notes(changelog: str, version: str) -> str:
    """Returns the section of a version, otherwise the unreleased one. Raises ReleaseError if it is empty."""
    found = re.findall(r"^## \[(.+?)\][^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    sections = {title: text.strip() for title, text in found}
    body: str = sections.get(version, sections.get("Unreleased", ""))
    if not body:
        raise ReleaseError(f"CHANGELOG.md says nothing of {version}")
    return body


def build(folder: Path) -> list[Path]:
    """Writes every file of the release and their checksums into an empty folder. Returns the files."""
    versions()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ReleaseError(f"{folder} is not empty")
    for make in (_wheel, _npm, _crate, _jar, _go, _chart):
        with tempfile.TemporaryDirectory() as scratch:
            make(Path(scratch), folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n" for path in files]
    (folder / SUMS).write_text("".join(lines))
    return files


def verify(folder: Path) -> int:
    """Returns the number of files that are as SHA256SUMS says. Raises ReleaseError if another is there, or one less."""
    lines = [line.partition("  ") for line in (folder / SUMS).read_text().splitlines()]
    named = {name: digest for digest, _, name in lines}
    present = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {SUMS}
    if present != named.keys():
        raise ReleaseError(f"not as named: {', '.join(sorted(present ^ named.keys()))}")
    for name, digest in named.items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            raise ReleaseError(f"{name} is not what {SUMS} has")
    return len(named)


def _run(*command: str, folder: Path = ROOT) -> None:
    subprocess.run(command, cwd=folder, check=True)


def _wheel(scratch: Path, folder: Path) -> None:
    _run(str(Path(sys.executable).with_name("uv")), "build", "--quiet", "--wheel", "--out-dir", str(scratch))
    _take(scratch, "threadkeep-*.whl", folder)


def _npm(scratch: Path, folder: Path) -> None:
    package = ROOT / "client" / "typescript"
    if not (package / "node_modules").exists():
        _run("npm", "ci", "--no-audit", "--no-fund", folder=package)
    _run("npm", "pack", "--silent", "--pack-destination", str(scratch), folder=package)
    _take(scratch, "*.tgz", folder)


def _crate(scratch: Path, folder: Path) -> None:
    manifest = str(ROOT / "client" / "rust" / "Cargo.toml")
    _run(
        "cargo", "package", "--quiet", "--no-verify", "--allow-dirty", "--manifest-path", manifest, "--target-dir", str(scratch)
    )
    _take(scratch, "package/threadkeep-*.crate", folder)


def _jar(scratch: Path, folder: Path) -> None:
    pom = ROOT / "client" / "java" / "pom.xml"
    _run("mvn", "-q", "-B", "-f", str(pom), "package", "-DskipTests")
    name = f"threadkeep-client-{versions()}"
    shutil.copy(pom, folder / f"{name}.pom")
    shutil.copy(pom.parent / "target" / f"{name}.jar", folder)


def _go(scratch: Path, folder: Path) -> None:
    """The module as a module proxy serves it, in one archive: unpacked, it is a GOPROXY."""
    _run("go", "run", "./internal/pack", str(scratch / "proxy"), folder=ROOT / "client" / "go")
    with tarfile.open(folder / f"threadkeep-go-{versions()}.tar.gz", "w:gz") as archive:
        archive.add(scratch / "proxy", arcname=".")


def _chart(scratch: Path, folder: Path) -> None:
    chart = ROOT / "deploy" / "helm" / "threadkeep"
    with tarfile.open(folder / f"threadkeep-chart-{versions()}.tgz", "w:gz") as archive:
        archive.add(chart, arcname=chart.name)


def _take(scratch: Path, pattern: str, folder: Path) -> None:
    [made] = scratch.glob(pattern)
    shutil.copy(made, folder)


_COMMANDS: Mapping[str, Callable[..., object]] = {
    "versions": lambda tag="": versions(tag=tag),
    "notes": lambda: notes((ROOT / "CHANGELOG.md").read_text(), versions()),
    "build": lambda folder: "\n".join(path.name for path in build(Path(folder))),
    "verify": lambda folder: f"{verify(Path(folder))} files are as {SUMS} says",
}


def main(command: str, *arguments: str) -> int:
    try:
        print(_COMMANDS[command](*arguments))
    except ReleaseError as failed:
        print(failed, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
