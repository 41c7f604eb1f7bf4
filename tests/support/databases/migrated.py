"""Folders with a SQLite database that a store has opened once: migrating takes longer than starting a server."""

from __future__ import annotations

import asyncio
import atexit
import shutil
import sqlite3
import uuid
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path
from threading import Thread

from . import template_databases
from .scratch import scratch_folder

FILE = "threadkeep.db"


def open_once(folder: Path) -> None:
    """Opens a store in the folder and closes it. May be called in a running event loop."""

    thread = Thread(target=lambda: asyncio.run(template_databases.open_once(f"sqlite:///{folder}/{FILE}")))
    thread.start()
    thread.join()


@cache
def _template() -> Path:
    stack = ExitStack()
    atexit.register(stack.close)
    folder = stack.enter_context(scratch_folder())
    open_once(folder)
    return folder


def with_database(folder: Path) -> Path:
    """Returns the data directory; one without a database gets one without data, migrated, and with a `store_id` of its own.

    A server does the same at its first start, which tests of that start leave to it.
    """
    if not (folder / FILE).exists():
        shutil.copytree(_template(), folder, dirs_exist_ok=True)
        with closing(sqlite3.connect(folder / FILE)) as connection, connection:
            changed = "UPDATE threadkeep_meta SET value = ? WHERE key = 'store_id'"
            assert connection.execute(changed, (str(uuid.uuid4()),)).rowcount == 1
    return folder
