"""The image: built by its Containerfile, from a base that mmdebstrap makes, and run as its configuration says.

No image can be fetched here, so BASE is Debian with its own Python. buildah builds in a chroot and keeps layers as plain
folders. Its result is run by bubblewrap, as the image's user, with a read-only root and no capability: podman needs rights that
CI lacks (its runtime sets limits, its health checks need systemd).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tools import release

from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import LONG
from tests.support.servers.server_process import free_port
from threadkeep import Client, user

from .programs import require_namespaces, require_programs
from .sandbox import STATE, USER, Sandboxed, image_root

pytestmark = [
    pytest.mark.skipif(not LONG, reason="it installs a Debian and builds the image, which takes minutes"),
    pytest.mark.timeout(3600),
]
ROOT = Path(__file__).parents[2]
TOKEN = "0123456789abcdef0123456789abcdef"


@dataclass(frozen=True)
class Image:
    """The image's root file system, as a folder, and its configuration."""

    root: Path
    config: dict[str, Any]

    @property
    def environment(self) -> dict[str, str]:
        return dict(each.split("=", 1) for each in self.config["Env"])


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    require_programs("mmdebstrap", "buildah")
    require_namespaces()
    if os.getuid() != 0:
        pytest.skip("not tested, only root builds images with plain folders")
    folder: Path = tmp_path_factory.mktemp("image")
    storage = ("--root", str(folder / "root"), "--runroot", str(folder / "run"), "--storage-driver", "vfs")

    def buildah(*arguments: str) -> str:
        done = subprocess.run(("buildah", *storage, *arguments), cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout.strip()

    archive = folder / "base.tar"
    packages = "--include=python3,python3-venv,ca-certificates"
    subprocess.run(("mmdebstrap", "--quiet", "--variant=minbase", packages, "bookworm", str(archive)), check=True)
    empty = buildah("from", "scratch")
    buildah("add", "--quiet", empty, str(archive), "/")
    buildah("commit", "--quiet", empty, "localhost/base")
    archive.unlink()
    # What this machine trusts and where it finds packages holds for the build, too; neither is kept in the image.
    shared = [each for each in ("/etc/pip.conf", "/etc/ssl/certs") if Path(each).exists()]
    mounts = [option for each in shared for option in ("--volume", f"{each}:{each}:ro")]
    arguments = ("--build-arg", "BASE=localhost/base", "--build-arg", f"VERSION={release.versions()}")
    build = ("build", "--isolation", "chroot", "--network", "host", "--format", "docker", *mounts, *arguments)
    buildah(*build, "--file", "deploy/container/Containerfile", "--tag", "localhost/threadkeep", ".")
    container = buildah("from", "--pull-never", "localhost/threadkeep")
    root = Path(buildah("mount", container))
    for parent in (root, *root.parents):  # the image's user passes through them
        if parent.is_relative_to(tmp_path_factory.getbasetemp()):
            parent.chmod(0o755)
    config = json.loads(buildah("inspect", "--type", "image", "localhost/threadkeep"))["Docker"]["config"]
    yield Image(root, config)
    buildah("umount", container)


def test_image_serves_and_drains_as_another_user_with_a_root_that_is_read_only(image: Image, tmp_path: Path, say: Say) -> None:
    assert image.config["User"] == f"{USER}:{USER}"
    grpc, http, admin = (f"127.0.0.1:{free_port()}" for _ in range(3))
    environment = image.environment | {
        "THREADKEEP_GRPC_ADDRESS": grpc,
        "THREADKEEP_HTTP_ADDRESS": http,
        "THREADKEEP_ADMIN_ADDRESS": admin,
        "THREADKEEP_AUTH_TOKENS": json.dumps({TOKEN: {"tenant": "acme"}}),
    }
    command = [*image.config["Entrypoint"], *image.config["Cmd"]]
    with Sandboxed(command, image_root(image.root), tmp_path, environment, another_user=True) as server:
        seconds = server.wait_until_ready(admin)
        status = Path(f"/proc/{server.pid}/status").read_text()
        assert re.search(rf"^Uid:(\t{USER}){{4}}$", status, re.MULTILINE), status
        assert re.search(r"^CapEff:\t0+$", status, re.MULTILINE), status
        root = next(line for line in Path(f"/proc/{server.pid}/mountinfo").read_text().splitlines() if line.split()[4] == "/")
        assert root.split()[5].startswith("ro"), root
        assert health(image, environment) == 0
        with Client(grpc, app="a", user_id="u", token=TOKEN, allow_plaintext_token=True) as client:
            client.append("s", user("kept"), create_if_missing=True)
        assert server.stop() == 0, server.log
        assert "draining" in server.log
        assert health(image, environment) == 1
    assert (tmp_path / "data" / "threadkeep.db").stat().st_uid == USER
    size = sum(path.lstat().st_size for path in image.root.rglob("*") if not path.is_dir() or path.is_symlink())
    say(f"image: ready after {seconds:.1f} s, {size / 1e6:.0f} MB unpacked with Debian")


def health(image: Image, environment: dict[str, str]) -> int:
    """Runs the health check of the image. Returns its status."""
    assert image.config["Healthcheck"]["Test"][0] == "CMD"
    command = ["bwrap", *image_root(image.root), "--proc", "/proc", "--dev", "/dev", "--clearenv"]
    for name, value in environment.items():
        command += ["--setenv", name, value]
    return subprocess.run((*command, "--", *image.config["Healthcheck"]["Test"][1:]), check=False, timeout=60).returncode


def test_server_without_credentials_does_not_start(image: Image, tmp_path: Path) -> None:
    command = [*image.config["Entrypoint"], *image.config["Cmd"]]
    with (
        Sandboxed(command, image_root(image.root), tmp_path, image.environment, another_user=True) as server,
        pytest.raises(AssertionError, match="insecure"),
    ):
        server.wait_until_ready(f"127.0.0.1:{free_port()}")


def test_bill_of_materials_names_what_is_installed(image: Image) -> None:
    bill = json.loads((image.root / "usr/share/sbom/threadkeep.cdx.json").read_text())
    assert bill["bomFormat"] == "CycloneDX"
    named = {(normal(each["name"]), each["version"]) for each in bill["components"]}
    folders = image.root.glob("opt/threadkeep/lib/python3*/site-packages/*.dist-info")
    installed = {path.name.removesuffix(".dist-info").partition("-")[::2] for path in folders}
    assert ("threadkeep", release.versions()) in installed
    assert {(normal(name), version) for name, version in installed} == named
    assert image.config["WorkingDir"] == STATE


def normal(name: str) -> str:
    """Returns a name of a package as indexes spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_nothing_of_the_build_is_left(image: Image) -> None:
    assert not (image.root / "src").exists()
    assert not (image.root / "opt/sbom").exists()
    assert not (image.root / "root/.cache").exists()
