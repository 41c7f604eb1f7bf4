"""The lock files: those of the server and of the image are parts of the whole, and none names a host."""

from __future__ import annotations

from tools.lock import LOCKS, ROOT, pins


def test_the_locks_for_serving_pin_what_the_whole_lock_pins() -> None:
    """Markers may differ: a package that serving needs on one platform may be needed everywhere for development."""
    whole, *parts = ({pin.split(" ;")[0] for pin in pins((ROOT / name).read_text())} for name in LOCKS)
    for part in parts:
        assert part < whole
        assert len(part) > 20


def test_locks_name_no_host() -> None:
    assert not [name for name in LOCKS if "//" in (ROOT / name).read_text()]
