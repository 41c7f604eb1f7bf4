"""The commands for ranked search and for memories."""

from __future__ import annotations

import io
import json
import sys
from datetime import datetime
from typing import Any

import pytest

import threadkeep
from tests.api.conftest import Cli
from tests.api.search.searching import embedded
from threadkeep import Client
from threadkeep.cli import main


@pytest.fixture
def filled(address: str) -> str:
    with Client(address, user_id="alice", app="shop") as client:
        client.append(
            "s1",
            threadkeep.user("Where can I find running shoes?", author="alice"),
            threadkeep.assistant("On the second floor, next to the socks."),
            threadkeep.user("And do you sell tents?", author="alice"),
            create_if_missing=True,
        )
        client.append("s2", threadkeep.user("My dog Bruno ate one of the shoes.", author="alice"), create_if_missing=True)
    return address


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_a_question_finds_its_answer_first(cli: Cli, filled: str) -> None:
    code, out, err = cli("search", "what did the dog do to my shoe?", "--mode", "ranked", "--user", "alice", "--json")
    assert (code, err) == (0, "")
    first = lines(out)[0]
    assert first["session"]["session_id"] == "s2"
    assert first["score"] > 0
    assert {"field": "text", "start": 28, "end": 33} in first["highlights"]


def test_neighbors_and_groups_are_printed(cli: Cli, filled: str) -> None:
    query = ("search", "socks", "--mode", "ranked", "--session", "s1", "--user", "alice", "--app", "shop", "--neighbors", "1")
    code, out, _ = cli(*query, "--json")
    assert code == 0
    (hit,) = lines(out)
    assert [each["seq"] for each in (*hit["before"], *hit["after"])] == [1, 3]
    code, out, _ = cli("search", "shoes", "--mode", "ranked", "--app", "shop", "--grouping", "session", "--json")
    assert sorted(each["session"]["session_id"] for each in lines(out)) == ["s1", "s2"]


def test_recency_ranks_newer_events_higher_as_of_a_time(cli: Cli, address: str) -> None:
    may, june = (datetime(2026, month, 1, 12).astimezone() for month in (5, 6))
    with Client(address, user_id="carl") as client:
        client.append("old", threadkeep.user("The harbor hotel, the harbor.", event_time=may), create_if_missing=True)
        client.append(
            "new", threadkeep.user("A hotel near the harbor, which has rooms.", event_time=june), create_if_missing=True
        )
    arguments = ("search", "harbor", "--mode", "ranked", "--user", "carl", "--json")

    def found(*options: str) -> dict[str, float]:
        code, out, err = cli(*arguments, *options)
        assert (code, err) == (0, "")
        return {str(hit["session"]["session_id"]): float(str(hit["score"])) for hit in lines(out)}

    plain = found()
    assert list(plain) == ["old", "new"]
    lifted = found("--recency", "1d", "--reference-time", "2026-06-01T12:00:00")
    assert list(lifted) == ["new", "old"]
    assert lifted == plain == {"old": 1.0, "new": 1.0}, "the order changes, and no score"
    assert list(found("--recency", "24h,weight=2", "--reference-time", "2026-06-02 12:00:00")) == ["new", "old"]


def test_yesterday_in_a_query_refers_to_the_reference_time(cli: Cli, address: str) -> None:
    with Client(address, user_id="dora") as client:
        for day in (9, 11, 13):
            when = datetime(2026, 6, day, 12).astimezone()
            client.append(f"d{day}", threadkeep.user("We met for tea.", event_time=when), create_if_missing=True)
    arguments = ("search", "what did we drink yesterday?", "--mode", "ranked", "--user", "dora", "--json")
    for day in (9, 11, 13):
        out = cli(*arguments, "--reference-time", f"2026-06-{day + 1:02}T12:00:00")[1]
        assert lines(out)[0]["session"]["session_id"] == f"d{day}"


def test_semantic_hits_have_at_least_the_minimum_score(start_server: object, capfd: pytest.CaptureFixture[str]) -> None:
    server = start_server(embedder="hashing")  # type: ignore[operator]
    address = f"127.0.0.1:{server.grpc_port}"
    with Client(address, user_id="alice") as client:
        client.append(
            "s1", threadkeep.user("a window seat"), threadkeep.user("two window seats, please"), create_if_missing=True
        )
        embedded(client)

    def scores(*options: str) -> list[float]:
        arguments = ("search", "a window seat", "--mode", "semantic", "--session", "s1", "--user", "alice", "--json")
        assert main([*arguments, *options]) == 0
        out, err = capfd.readouterr()
        assert not err
        return [float(str(hit["score"])) for hit in lines(out)]

    common = ("--address", address)
    best, other = scores(*common)
    assert best > 0.99 > other > 0
    assert scores("--min-score", "0.99", *common) == [best]
    assert scores("--min-score", "-1", *common) == [best, other]
    assert main(["search", "x", "--mode", "semantic", "--user", "alice", "--min-score", "1.5", *common]) == 2
    assert "'--min-score': Input should be less than or equal to 1" in capfd.readouterr().err


def test_a_ranked_search_requires_a_scope(cli: Cli, filled: str) -> None:
    code, _, err = cli("search", "shoes", "--mode", "ranked")
    assert code == 2
    assert "--user" in err


def test_semantic_search_without_an_embedder_names_the_setting(cli: Cli, filled: str) -> None:
    code, _, err = cli("search", "shoes", "--mode", "semantic", "--user", "alice")
    assert code == 1
    assert "THREADKEEP_EMBEDDER" in err
    assert "--mode ranked" in err


def test_the_table_contains_scores(cli: Cli, filled: str) -> None:
    code, out, _ = cli("search", "tents", "--mode", "ranked", "--user", "alice")
    assert code == 0
    assert out.splitlines()[0].split()[:3] == ["score", "user", "session"]
    assert "do you sell tents?" in out


def test_sessions_are_ingested_once(cli: Cli, filled: str) -> None:
    scope = ("--user", "alice", "--app", "shop")
    code, out, err = cli("memory", "ingest", "s1", "s2", *scope)
    assert (code, err) == (0, "")
    assert out.splitlines() == ["s1: 3 added", "s2: 1 added"]
    assert cli("memory", "ingest", "s1", *scope)[1].strip() == "s1: 0 added, 3 there already"
    assert lines(cli("memory", "ingest", "s2", *scope, "--json")[1]) == [
        {"session": "s2", "added": 0, "existing": 1, "skipped": 0, "deleted": 0}
    ]


def test_memories_are_added_found_listed_and_deleted(cli: Cli, address: str) -> None:
    scope = ("--user", "alice", "--app", "shop")
    added = ("memory", "add", "Alice prefers tea to coffee.", "--id", "m1", "--metadata", '{"kind": "taste"}', *scope)
    assert cli(*added)[1].strip() == "remembered as m1"
    assert cli(*added)[1].strip() == "m1 was there already"
    code, _, err = cli("memory", "add", "Something else.", "--id", "m1", *scope)
    assert code == 1
    assert "m1" in err
    cli("memory", "add", "Alice lives in Lisbon.", *scope)

    (best, *_) = lines(cli("memory", "search", "which drink does she prefer?", *scope, "--json")[1])
    assert best["id"] == "m1"
    assert best["highlights"]
    assert "Lisbon" in cli("memory", "list", *scope)[1]
    assert [each["id"] for each in lines(cli("memory", "list", "--where", "kind=taste", *scope, "--json")[1])] == ["m1"]

    assert cli("memory", "delete", "m1", *scope)[0] == 2, "without a terminal to confirm"
    assert cli("memory", "delete", "m1", "nobody", "--yes", *scope)[1].strip() == "forgot 1, with 0 embeddings; 1 not found"
    (receipt,) = lines(cli("memory", "delete", "--all", "--yes", "--json", *scope)[1])
    assert str(receipt.pop("delete_time")).endswith("Z")
    assert receipt == {"deleted": 1, "embeddings_deleted": 0, "not_found": 0}
    assert cli("memory", "list", *scope)[1].strip() == "nothing is remembered"


def test_a_memory_is_read_from_stdin(cli: Cli, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("The gate code is 4711."))
    assert cli("memory", "add", "-", "--user", "alice")[0] == 0
    assert "4711" in cli("memory", "search", "gate code", "--user", "alice")[1]


def test_a_repeated_add_is_reported_in_json(cli: Cli, address: str) -> None:
    added = ("memory", "add", "Tea.", "--id", "m1", "--user", "alice", "--json")
    assert [lines(cli(*added)[1]) for _ in range(2)] == [[{"id": "m1", "replayed": replayed}] for replayed in (False, True)]


@pytest.mark.parametrize(
    ("arguments", "step"),
    [
        (
            ("search", "shoes", "--mode", "substring", "--grouping", "turn"),
            "--grouping turn is not for substring search; add --mode ranked",
        ),
        (
            ("search", "shoes", "--mode", "substring", "--distinct"),
            "--distinct is not for substring search; add --mode ranked",
        ),
        (
            ("search", "shoes", "--mode", "substring", "--field", "media"),
            "--field media is not for substring search; add --mode ranked",
        ),
        (
            ("search", "shoes", "--mode", "substring", "--recency", "7d"),
            "--recency is not for substring search; add --mode ranked",
        ),
        (
            ("search", "shoes", "--mode", "substring", "--reference-time", "2026-06-01"),
            "--reference-time is not for substring search; add --mode ranked",
        ),
        (
            ("search", "shoes", "--mode", "ranked", "--user", "alice", "--recency", "7"),
            "--recency takes a duration as in 12h, 7d or 1h30m, not '7'",
        ),
        (("memory", "list"), "give --user"),
        (("memory", "add", " ", "--user", "u"), "TEXT must not be blank"),
        (("memory", "add", "x", "--user", "u", "--metadata", "[1]"), "give --metadata as in"),
    ],
)
def test_errors_name_the_option_of_the_command_line(cli: Cli, filled: str, arguments: tuple[str, ...], step: str) -> None:
    code, out, err = cli(*arguments)
    assert code in (1, 2)
    assert not out
    assert step in err


def test_an_empty_result_suggests_naming_an_app(cli: Cli, filled: str) -> None:
    cli("memory", "ingest", "s1", "--user", "alice", "--app", "shop")
    for command in (("search", "tents"), ("list",)):
        assert "--app names one" in cli("memory", *command, "--user", "alice")[1]


def test_an_incomplete_result_is_reported(start_server: object, capfd: pytest.CaptureFixture[str]) -> None:
    server = start_server(  # type: ignore[operator]
        embedder="openai", embedder_model="small", embedder_base_url="http://127.0.0.1:1/v1", embedder_api_key="key"
    )
    address = f"127.0.0.1:{server.grpc_port}"
    with Client(address, user_id="alice") as client:
        client.append("s1", *(threadkeep.user(f"shoe {number}") for number in range(600)), create_if_missing=True)
        client.append("s1", *(threadkeep.user(f"boot and shoe {number}") for number in range(600)))
        client.memory().add(threadkeep.memory_entry("Shoes are in the hall."))
    by_words = "the embedder did not respond: these hits match words only; run it again to search by meaning too"
    common = ("--mode", "hybrid", "--user", "alice", "--address", address)

    def said(err: str | None = None) -> list[str]:
        """Returns the lines of the command. The log of a server behind Envoy goes to the same place."""
        lines = (capfd.readouterr().err if err is None else err).splitlines()
        return [line for line in lines if "threadkeep_server" not in line]

    assert main(["search", "shoes", "--limit", "1", *common]) == 0
    result = said()
    assert result[0] == "only the best hit is shown; --limit 0 shows all"
    assert result[1] == by_words
    assert main(["memory", "search", "shoes", *common]) == 0
    assert said()[0] == by_words
    assert main(["search", "shoes", "--limit", "0", "--json", *common]) == 0
    out, err = capfd.readouterr()
    assert len(out.splitlines()) == 1000
    assert said(err)[0].startswith("more events match than are ranked")


def test_deletion_requires_exactly_one_selection(cli: Cli, address: str) -> None:
    for wrong in ((), ("m1", "--all"), ("--session", "s", "--all")):
        code, _, err = cli("memory", "delete", *wrong, "--user", "alice", "--yes")
        assert code == 2
        assert "give ids, or --namespace, or --session, or --all" in err


def test_a_server_without_memory_is_reported(start_server: object, capfd: pytest.CaptureFixture[str]) -> None:
    server = start_server(memory=False)  # type: ignore[operator]
    code = main(["memory", "list", "--user", "a", "--address", f"127.0.0.1:{server.grpc_port}"])
    assert code == 1
    assert "THREADKEEP_MEMORY" in capfd.readouterr().err


def test_the_default_mode_ranks_questions_and_matches_quoted_text(cli: Cli, address: str) -> None:
    with Client(address, user_id="dora") as client:
        client.append(
            "trip", threadkeep.user("I would rather fly to Lisbon."), threadkeep.user("Fine."), create_if_missing=True
        )
        client.memory(user_id="dora").add("Dora flies to Lisbon.")
    where = ("--user", "dora", "--json")
    assert [hit["text"] for hit in lines(cli("search", "Where do I want to fly?", *where)[1])] == [
        "I would rather fly to Lisbon.",
        "Fine.",
    ], "including its neighbors"
    assert [hit["score"] for hit in lines(cli("search", '"RATHER fly"', *where)[1])] == [1.0]
    assert lines(cli("search", '"fly rather"', *where)[1]) == []
    assert "fly to Lisbon" in cli("search", "flying rather")[1], "in every user's sessions"
    assert lines(cli("search", "What is the capital of Mongolia?", *where)[1]) == []
    assert lines(cli("search", "flying submarine volcano", *where, "--min-score", "0.9")[1]) == []
    assert len(lines(cli("memory", "search", "Lisbon submarine", *where, "--min-score", "0.3")[1])) == 1
    assert lines(cli("memory", "search", "Lisbon submarine", *where, "--min-score", "0.9")[1]) == []


def test_an_entry_is_set_read_and_replaced_under_its_name(cli: Cli, address: str) -> None:
    of = ("--user", "erin", "--namespace", "prefs", "--namespace", "travel")
    code, out, _ = cli(
        "memory", "set", "seat", "window", *of, "--metadata", '{"weight": 3}', "--ttl", "1h", "--etag", "", "--json"
    )
    assert code == 0
    (first,) = lines(out)
    assert (first["outcome"], first["namespace"]) == ("added", ["prefs", "travel"])
    code, _, err = cli("memory", "set", "seat", "aisle", *of, "--etag", "")
    assert (code, first["etag"] in err) == (1, True)
    code, out, _ = cli("memory", "set", "seat", "aisle", *of, "--etag", first["etag"], "--metadata", '{"weight": 4}')
    assert (code, out.startswith("replaced seat in prefs / travel, etag ")) == (0, True)
    code, out, _ = cli("memory", "set", "seat", "middle", *of, "--keep-existing")
    assert out.startswith("kept seat")
    code, out, err = cli("memory", "get", "seat", "none", *of, "--json")
    assert (code, "there is no memory 'none' in prefs / travel" in err) == (3, True)
    assert [each["content"]["parts"][0]["text"] for each in lines(out)] == ["aisle"]


def test_namespaces_are_listed_and_select_entries(cli: Cli, address: str) -> None:
    for weight, label in enumerate(("food", "travel")):
        path = ("--namespace", "prefs", "--namespace", label)
        cli("memory", "set", label, f"likes {label}", *path, "--user", "finn", "--metadata", json.dumps({"weight": weight}))
    cli("memory", "set", "root", "likes all", "--user", "finn")
    code, out, _ = cli("memory", "namespaces", "--user", "finn", "--json")
    assert (code, [json.loads(line) for line in out.splitlines()]) == (0, [[], ["prefs", "food"], ["prefs", "travel"]])
    code, out, _ = cli("memory", "namespaces", "--user", "finn", "--suffix", "food")
    assert out.split("\n")[1].strip() == "prefs / food"
    chosen = ("--user", "finn", "--namespace", "prefs", "--condition", "weight gte 1", "--json")
    for command in (("list",), ("search", "likes")):
        code, out, _ = cli("memory", *command, *chosen)
        assert (code, [each["id"] for each in lines(out)]) == (0, ["travel"])
    code, _, err = cli("memory", "list", "--user", "finn", "--condition", "weight>=1")
    assert (code, "--condition takes KEY OPERATOR JSON" in err) == (2, True)
    code, out, _ = cli("memory", "delete", "--user", "finn", "--namespace", "prefs", "--yes", "--json")
    assert (code, lines(out)[0]["deleted"]) == (0, 2)
