"""`threadkeep state`."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

import threadkeep
from tests.api.conftest import Cli
from threadkeep import Client

TRIP = ("--session", "trip", "--user", "alice", "--app", "shop")
SCOPES = [TRIP, ("--user", "alice", "--app", "shop"), ("--app", "shop"), ("--scope", "user", "--user", "alice")]


@pytest.fixture(autouse=True)
def trip(address: str) -> None:
    with Client(address, user_id="alice", app="shop") as client:
        client.create_session("trip", state={"cart": {"b": 1, "a": 2}})


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize("options", SCOPES, ids=["session", "user", "app", "user without an app"])
def test_values_of_a_scope_are_set_removed_and_read(cli: Cli, options: tuple[str, ...]) -> None:
    code, out, err = cli("state", "set", 'seat="window"', "trips=1", *options)
    assert (code, err) == (0, "")
    version = int(out.rpartition(" ")[2])
    assert cli("state", "set", "--remove", "seat", "none=null", *options, "--json")[1].endswith(f'"version":{version + 1}}}\n')
    code, out, err = cli("state", "get", "trips", "none", *options)
    assert code == 0
    assert [line.split() for line in out.splitlines()] == [["key", "value"], ["none", "null"], ["trips", "1"]]
    assert err == f"version {version + 1}\n"
    code, _, err = cli("state", "get", "none", "seat", *options)
    assert code == 3
    assert "has no value for 'seat'; `threadkeep state get` without a KEY prints all" in err


def test_values_are_written_as_they_were_set(cli: Cli) -> None:
    cli("state", "set", "big=1e400", 'text={"ü":\n 1}', "id=9007199254740993", *TRIP)
    out = cli("state", "get", *TRIP, "--json")[1]
    values = '{"big":1e400,"cart":{"b":1,"a":2},"id":9007199254740993,"text":{"ü":  1}}'
    assert out == f'{{"scope":"session","version":2,"values":{values}}}\n'
    assert cli("state", "get", "--key-prefix", "c", "--as-of-version", "0", *TRIP, "--json")[1].endswith('{"b":1,"a":2}}}\n')


def test_a_value_is_read_from_standard_input(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('{"long": "text"}\n'))
    assert cli("state", "set", "draft=-", *TRIP)[0] == 0
    assert '"draft":{"long": "text"}' in cli("state", "get", "draft", *TRIP, "--json")[1]


def test_a_change_in_between_is_reported_with_what_to_do(cli: Cli) -> None:
    code, _, err = cli("state", "set", "a=1", "--expected-version", "0", *TRIP)
    assert code == 1
    assert "the state of session trip is at version 1, not 0; `threadkeep state get` prints it" in err
    assert cli("state", "set", "a=1", "--expected-version", "1", *TRIP)[0] == 0
    code, _, err = cli("state", "set", "a=2", "--expected-version", "1", *TRIP, "--json")
    assert json.loads(err)["error"]["reason"] == "VERSION_MISMATCH"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("get",), "give --session, --user or --app"),
        (("get", "--scope", "session"), "needs --session"),
        (("get", "--scope", "app", "--user", "alice"), "leave out --user"),
        (("get", "--scope", "user", *TRIP), "leave out --session"),
        (("get", "--user", "alice", "--as-of-version", "1"), "only the present is kept"),
        (("get", "a", "--key-prefix", "b", *TRIP), "either KEY or --key-prefix"),
        (("set", *TRIP), "give KEY=JSON, or --remove KEY"),
        (("set", "a", *TRIP), "a value is KEY=JSON"),
        (("set", "a=1", "a=2", *TRIP), "set twice"),
        (("set", "a=window", *TRIP), """a text needs quotes, as in 'a="window"'"""),
        (("set", "a=NaN", *TRIP), "is not JSON"),
        (("watch", "--from-beginning", "--resume-token", "t", *TRIP), "at most one"),
    ],
)
def test_wrong_usage_names_the_missing_argument(cli: Cli, arguments: tuple[str, ...], says: str) -> None:
    code, _, err = cli("state", *arguments)
    assert code == 2
    assert says in err


def test_the_state_of_a_missing_session_is_reported(cli: Cli) -> None:
    assert cli("state", "get", "--session", "nowhere", "--user", "alice")[0] == 3


@pytest.fixture
def changed(address: str) -> None:
    """Changes of state in three scopes, by patches and by appends, and other changes."""
    with Client(address, user_id="alice", app="shop") as client:
        client.append("trip", threadkeep.user("hi"))
        client.append("trip", threadkeep.user("hi"), state={"set": {"n": 1}}, user_state={"set": {"seat": "aisle"}})
        client.session("trip").state().patch(remove=["cart"])
        client.app_state().patch({"open": True})
        client.pop("trip")


def test_a_watch_shows_the_changes_of_one_scope(cli: Cli, changed: None) -> None:
    def watched(count: str, *options: str) -> list[str]:
        code, out, err = cli("state", "watch", "--from-beginning", "--count", count, *options)
        assert (code, err) == (0, "")
        return [line.partition("  ")[2].removeprefix("shop/alice  ") for line in out.splitlines()]

    first = 'state  version 1  cart={"b":1,"a":2}'
    assert watched("3", *TRIP) == [first, "state  version 2  n=1", "state  version 3  removed cart"]
    assert watched("1", "--user", "alice", "--app", "shop") == ['state of the user  version 1  seat="aisle"']
    assert watched("1", "--app", "shop") == ["state of the app  version 1  open=true"]


def test_a_watch_is_resumed_after_a_change(cli: Cli, changed: None) -> None:
    _, first, second = lines(cli("state", "watch", "--from-beginning", "--count", "3", *TRIP, "--json")[1])
    assert first["batch"] == {"events": [], "state": {"scope": "session", "version": 2, "set": {"n": "1"}}}
    assert second["state"] == {"scope": "session", "version": 3, "removed": ["cart"]}
    resumed = cli("state", "watch", "--resume-token", first["resume_token"], "--count", "1", *TRIP, "--json")[1]
    assert lines(resumed) == [second]


def test_the_tail_of_a_session_shows_state_and_removals(cli: Cli, changed: None) -> None:
    code, out, err = cli("watch", "trip", "--user", "alice", "--app", "shop", "--from-beginning", "--count", "6")
    assert (code, err) == (0, "")
    shown = [line.partition("  ")[2] for line in out.splitlines()]
    assert shown[4:] == ["state  version 2  n=1", "state  version 3  removed cart", "popped  1 event  #2"]
    only_tools = cli("watch", "trip", "--user", "alice", "--app", "shop", "--from-beginning", "--role", "tool", "--count", "3")
    assert only_tools[0] == 0
    assert "version 2  n=1" in only_tools[1]
