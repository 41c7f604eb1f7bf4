"""The browsers of the tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Playwright

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE = 30_000
"""Milliseconds. A loaded machine is much slower than any reader."""


@contextmanager
def chromium(playwright: Playwright, **options: Any) -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    opened = playwright.chromium.launch(
        executable_path=shutil.which("chromium"), args=list(ARGUMENTS), timeout=3 * PATIENCE, **options
    )
    try:
        yield opened
    finally:
        opened.close()
