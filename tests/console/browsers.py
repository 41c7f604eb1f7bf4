"""The browsers of the tests."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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


@contextmanager
def firefox(playwright: Playwright, scratch: Path) -> Iterator[Browser]:
    """Debian's Firefox ESR, without a window."""
    program = scratch / "firefox"
    bridge = Path(__file__).with_name("bidi_bridge.py")
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{bridge}" "{shutil.which("firefox-esr")}" "$@"\n')
    program.chmod(0o755)
    opened = playwright.firefox.launch(channel="moz-firefox", executable_path=program, timeout=3 * PATIENCE)
    try:
        yield opened
    finally:
        opened.close()
