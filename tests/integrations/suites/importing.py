"""Runs `threadkeep import` as a program, as a user does, and compares what it stored."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from typing import Any

from threadkeep import AsyncClient, Event, SessionRef

PROGRAM = os.environ["THREADKEEP_TEST_PROGRAM"]
POSTGRES = os.environ.get("THREADKEEP_TEST_POSTGRES", "")
"""The address of an empty database of PostgreSQL, for the tests that import from one; empty where there is none."""
_WITHIN = 120.0


@dataclass(frozen=True)
class Imported:
    """The outcome of an import: exit code, summary, and the error if there is one."""

    code: int
    summary: dict[str, Any]
    error: dict[str, Any]

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Sessions created and already there, events added and already there."""
        found = self.summary
        return (
            found["sessions_created"],
            found["sessions_already_there"],
            found["events_added"],
            found["events_already_there"],
        )


def schema_address(schema: str) -> str:
    """The address of the database of PostgreSQL with a schema of one test."""
    return f"{POSTGRES}?options=-csearch_path%3D{schema}"


def command(source: object, address: str, *options: str) -> list[str]:
    """The command line of an import."""
    return [PROGRAM, "import", str(source), "--address", address, "--json", *options]


def run_import(source: object, address: str, *options: str) -> Imported:
    """Imports to the end."""
    done = subprocess.run(command(source, address, *options), capture_output=True, text=True, timeout=_WITHIN, check=False)
    errors = [line for line in done.stderr.splitlines() if line.startswith('{"error"')]
    assert "Traceback" not in done.stderr, done.stderr
    summary = json.loads(done.stdout) if done.stdout else {}
    return Imported(done.returncode, summary, json.loads(errors[0])["error"] if errors else {})


async def killed_import(source: object, address: str, session: SessionRef, *options: str) -> int:
    """Imports, and ends it as kill -9 does once the session has events; returns how many it has at least.

    The server may still store the append that was in flight.
    """
    silent = subprocess.DEVNULL
    started = subprocess.Popen(command(source, address, *options), stdout=silent, stderr=silent)  # noqa: ASYNC220
    deadline = time.monotonic() + _WITHIN
    try:
        async with AsyncClient(address) as client:
            while started.poll() is None and time.monotonic() < deadline:
                if (await client.events_page(session, page_size=1)).events:
                    break
    finally:
        started.kill()
        started.wait()
    return len(await log_of(address, session))


async def log_of(address: str, session: SessionRef) -> list[Event]:
    """All events of a session, in order."""
    async with AsyncClient(address) as client:
        return [event async for event in client.events(session, page_size=1_000)]
