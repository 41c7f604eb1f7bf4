"""`threadkeep consumers` with a real server."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import threadkeep
from threadkeep import Client, Delivery, Park
from threadkeep.cli import main

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cli(address: str, capfd: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command; returns exit code, output and standard error."""

    def invoke(*arguments: str) -> tuple[int, str, str]:
        code = main(["consumers", *arguments, "--address", address])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return invoke


@contextmanager
def member(address: str, handler: Callable[[Delivery], object]) -> Iterator[None]:
    """A member `m1` of the consumer `index` of alice's sessions, from the beginning."""
    stop = threading.Event()

    def work() -> None:
        with Client(address, user_id="alice") as client:
            index = client.consumer("index")
            index.run(handler, from_beginning=True, member_id="m1", partitions=2, max_attempts=3, stop=stop)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(60)


def until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def refuse(delivery: Delivery) -> None:
    """Parks the appended changes."""
    change = delivery.change
    if change.HasField("batch"):
        raise Park(f"no index\n for {change.batch.events[0].seq}")


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(each) for each in out.splitlines()]


@pytest.fixture
def parked(address: str) -> None:
    """The consumer `index` with three parked appends to `s` and no members."""
    with Client(address, user_id="alice") as client, member(address, refuse):
        client.create_session("s")
        for n in range(3):
            client.append("s", threadkeep.user(f"line {n}"))

        def counted() -> bool:
            try:
                return client.consumer("index").get().parked_changes == 3
            except threadkeep.errors.ConsumerNotFound:
                return False

        until(counted)


def test_lists_without_consumers_are_empty(cli: Cli) -> None:
    assert cli("list") == (0, "no consumers\n", "")
    for command in (["show", "nope"], ["parked", "nope"], ["replay", "nope", "--all"], ["discard", "nope", "--all", "-y"]):
        code, _, err = cli(*command)
        assert (code, "`threadkeep consumers list`" in err) == (3, True)
    assert cli("delete", "nope", "--yes")[:2] == (0, "nope is not there\n")


def test_a_consumer_is_listed_and_printed(cli: Cli, parked: None, address: str) -> None:
    assert "index  user alice" in cli("list")[1]
    (listed,) = lines(cli("list", "--json")[1])
    assert (listed["name"], listed["partitions"], listed["max_attempts"], listed["ack_timeout"]) == ("index", 2, 3, 60.0)
    out = cli("show", "index")[1]
    assert "no members" in out
    assert "threadkeep consumers parked index" in out
    with Client(address, user_id="alice") as client:
        client.append("s", threadkeep.user("one more"))
    (shown,) = lines(cli("show", "index", "--json")[1])
    assert (sum(each["lag"] for each in shown["partitions"]), shown["parked_changes"], shown["members"]) == (1, 3, [])
    assert [each["partition"] for each in shown["partitions"]] == [0, 1]
    with member(address, lambda _change: None):
        until(lambda: lines(cli("show", "index", "--json")[1])[0]["members"])
        assert "m1" in cli("show", "index")[1]


def test_parked_changes_are_listed_with_their_reasons(cli: Cli, parked: None) -> None:
    code, out, _ = cli("parked", "index")
    header, *rows = out.splitlines()
    assert (code, header.split()) == (0, ["id", "time", "session", "change", "attempts", "reason"])
    assert ["alice/s" in row for row in rows] == [True] * 3
    assert rows[1].rstrip().endswith("no index for 2")
    assert "seq 2" in rows[1]
    found = lines(cli("parked", "index", "--json")[1])
    assert [each["change"]["batch"]["events"][0]["text"] for each in found] == ["line 0", "line 1", "line 2"]
    assert [each["replaying"] for each in found] == [False] * 3
    code, out, err = cli("parked", "index", "--limit", "2")
    assert (len(out.splitlines()), "--limit 0 shows all" in err) == (3, True)


def test_parked_changes_are_replayed(cli: Cli, parked: None, address: str) -> None:
    first = lines(cli("parked", "index", "--json")[1])[0]["parked_id"]
    assert cli("replay", "index", first)[1] == "1 change of index will be delivered again\n"
    assert lines(cli("parked", "index", "--json")[1])[0]["replaying"] is True
    assert "(replaying)" in cli("parked", "index")[1]
    handled: list[str] = []
    with member(address, lambda each: handled.append(each.change.batch.events[0].message.parts[0].text)):
        # Until the first is no longer parked: --all selects changes that are being replayed too.
        until(lambda: handled and len(lines(cli("parked", "index", "--json")[1])) == 2)
        assert lines(cli("replay", "index", "--all", "--json")[1]) == [{"name": "index", "replayed": 2}]
        until(lambda: len(handled) == 3)
    assert sorted(handled) == ["line 0", "line 1", "line 2"]
    assert cli("parked", "index")[1] == "nothing is parked\n"


def test_parked_changes_are_discarded(cli: Cli, parked: None) -> None:
    first = lines(cli("parked", "index", "--json")[1])[0]["parked_id"]
    assert "--yes" in cli("discard", "index", first)[2]
    assert cli("discard", "index", first, "--yes")[1] == "discarded 1 change of index\n"
    assert lines(cli("discard", "index", "--all", "--yes", "--json")[1]) == [{"name": "index", "discarded": 2}]


def test_a_consumer_is_deleted(cli: Cli, parked: None) -> None:
    code, _, err = cli("delete", "index", "--json")
    assert (code, "--yes" in err) == (2, True)
    assert lines(cli("delete", "index", "--yes", "--json")[1]) == [{"name": "index", "deleted": True}]
    assert cli("show", "index")[0] == 3


@pytest.mark.parametrize("command", ["replay", "discard"])
@pytest.mark.parametrize("which", [[], ["1", "--all"]])
def test_replay_and_discard_require_a_selection(cli: Cli, command: str, which: list[str]) -> None:
    code, _, err = cli(command, "index", *which)
    assert (code, "or --all" in err) == (2, True)
