"""Servers in the process of the client."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

import threadkeep
from tests.support.programs.python import python
from threadkeep import AsyncClient, Client, errors


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("threadkeep-local")]


def test_a_client_in_memory_needs_no_server() -> None:
    with Client(":memory:", app="shop", user_id="alice") as client:
        client.append("trip", "On time?", create_if_missing=True)
        assert [event.text for event in client.events("trip")] == ["On time?"]
        assert repr(client) == "Client(':memory:', app='shop', user_id='alice')"
        assert len(threads()) == 1
        with Client(":memory:", user_id="alice") as other:
            assert list(other.sessions()) == []
    assert threads() == []


def test_a_local_file_keeps_its_sessions(tmp_path: Path) -> None:
    path = tmp_path / "memory with spaces.db"
    for n in range(2):
        with Client.local(str(path), user_id="alice") as client:
            assert client.session("trip").append(str(n), create_if_missing=True).last_seq == n + 1
    assert path.exists()


async def test_an_asynchronous_client_runs_a_server_too(tmp_path: Path) -> None:
    async with AsyncClient.local(str(tmp_path / "memory.db"), user_id="alice") as client:
        await client.append("trip", "hi", create_if_missing=True)
        changes = client.watch("trip", from_beginning=True)
        assert isinstance(await anext(changes), threadkeep.SessionCreated)
        await changes.aclose()
        assert [hit.event.text async for hit in client.search('"hi"', session="trip")] == ["hi"]
    assert threads() == []


def test_a_client_that_makes_no_call_starts_no_server() -> None:
    with Client(":memory:"):
        assert threads() == []


def test_a_file_in_use_is_an_error_of_the_first_call(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with Client.local(path, user_id="alice") as first, Client.local(path, user_id="alice") as second:
        first.info()
        with pytest.raises(Exception, match="in use"):
            second.info()


def test_only_the_client_reaches_its_server() -> None:
    with Client(":memory:", user_id="alice") as client:
        client.info()
        assert client._local is not None
        with Client(client._local.start(), user_id="alice") as stranger, pytest.raises(errors.Unauthenticated):
            stranger.info()


def test_without_the_extra_one_error_has_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}", name="pydantic_settings")

    monkeypatch.setattr("threadkeep._local.importlib.import_module", missing)
    message = r'a server in this process needs pydantic_settings, which is not installed: pip install "threadkeep\[server\]"'
    with Client(":memory:") as client, pytest.raises(ImportError, match=message):
        client.info()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Client("127.0.0.1", database="x.db"),
        lambda: Client(":memory:", token="t"),
        lambda: Client(":memory:", tls=True),
        lambda: Client.local("x.db", token="t"),  # type: ignore[call-arg]
        lambda: Client.local(7),  # type: ignore[arg-type]
    ],
)
def test_arguments_that_a_local_server_does_not_take_are_rejected(make: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        make()


def test_a_process_that_does_not_close_the_client_ends() -> None:
    script = (
        "import threadkeep; client = threadkeep.Client(':memory:', user_id='a'); "
        "print(client.append('s', 'hi', create_if_missing=True).last_seq)"
    )
    done = subprocess.run([*python(), "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_an_asynchronous_client_works_in_one_event_loop_after_another(address: str) -> None:
    client = AsyncClient(address, user_id="alice")
    for n in range(2):
        assert asyncio.run(client.append("trip", str(n), create_if_missing=True)).last_seq == n + 1
    asyncio.run(client.close())


async def test_an_asynchronous_client_in_a_second_event_loop_raises_an_error(address: str) -> None:
    async with AsyncClient(address, user_id="alice") as client:
        await client.info()
        with pytest.raises(RuntimeError, match="in use by another event loop; make one AsyncClient"):
            await asyncio.to_thread(asyncio.run, client.info())
        assert (await client.info()).version
