"""The lock files: those of the server and of the image are parts of the whole, and none names a host."""

from __future__ import annotations

import re
import tomllib

from tools.lock import LOCKS, ROOT, pins


def test_the_locks_for_serving_pin_what_the_whole_lock_pins() -> None:
    """Markers may differ: a package that serving needs on one platform may be needed everywhere for development."""
    whole, *parts = ({pin.split(" ;")[0] for pin in pins((ROOT / name).read_text())} for name in LOCKS)
    for part in parts:
        assert part < whole
        assert len(part) > 20


def test_locks_name_no_host() -> None:
    assert not [name for name in LOCKS if "//" in (ROOT / name).read_text()]


def test_the_image_has_every_extra_of_the_server_but_the_large_ones() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    of_server = {name for name, needs in extras.items() if "threadkeep[server]" in needs}
    of_image = set(LOCKS["deploy/container/requirements.lock"]) - {"--extra"}
    # Models in the process, exact counts of tokens, and the other front end.
    assert of_server - of_image == {"embedder-local", "envoy", "tokens"}
    [row] = re.findall(r"^\| \[image\].*", (ROOT / "docs/operations/deployment.md").read_text(), re.MULTILINE)
    assert set(re.findall(r"`([a-z-]+)`", row)) == of_image
