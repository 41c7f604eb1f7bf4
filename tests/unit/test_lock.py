"""The lock files: the server's is a part of the whole, and neither names a host."""

from __future__ import annotations

from tools.lock import LOCKS, ROOT, pins


def test_the_lock_for_serving_pins_what_the_whole_lock_pins() -> None:
    """Markers may differ: a package that serving needs on one platform may be needed everywhere for development."""
    whole, serving = ({pin.split(" ;")[0] for pin in pins((ROOT / name).read_text())} for name in LOCKS)
    assert serving < whole
    assert len(serving) > 20


def test_locks_name_no_host() -> None:
    assert not [name for name in LOCKS if "//" in (ROOT / name).read_text()]
