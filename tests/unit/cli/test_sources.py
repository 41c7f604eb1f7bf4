"""What `import` makes of its arguments, and what the values of columns are."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest

from threadkeep.cli.errors import CliError
from threadkeep.cli.formats import EventItem, Item, Malformed, ReadOptions, SessionStart
from threadkeep.cli.formats.items import FieldError
from threadkeep.cli.sources import Inputs, opened
from threadkeep.cli.sources.database import SourceError, following, json_object, time_of
from threadkeep.cli.sources.postgres import HOW_TO_INSTALL, PostgresDatabase, shown_url
from threadkeep.cli.sources.sqlite import SqliteDatabase

OPTIONS = ReadOptions()


def database(path: Path, *statements: str) -> Path:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return path


def items(source: object, form: str | None = None) -> list[Item]:
    return list(opened(str(source), form, OPTIONS))


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    """A database of the OpenAI Agents SDK, without an extension in its name."""
    return database(
        tmp_path / "agents ü?#",
        "CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TIMESTAMP, updated_at TIMESTAMP)",
        "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, message_data TEXT,"
        " created_at TIMESTAMP)",
        "CREATE INDEX i ON agent_messages (session_id, id)",
        "INSERT INTO agent_sessions VALUES ('b', NULL, NULL), ('a', '2024-01-01 00:00:00', NULL)",
        """INSERT INTO agent_messages (session_id, message_data) VALUES ('b', '{"role": "user", "content": "x"}'),
        ('orphan', '{"role": "user", "content": "y"}'), ('b', '[1]'), ('b', NULL)""",
    )


def test_a_database_is_known_by_its_content_and_its_tables(agents: Path) -> None:
    found = items(agents)
    sessions = [each.session.ref.session_id for each in found if isinstance(each, SessionStart)]
    assert sessions == ["a", "b", "orphan"], "one without a row of its own too"
    assert [each.event.event_id for each in found if isinstance(each, EventItem)] == ["item-1", "item-2"]
    problems = [str(each) for each in found if isinstance(each, Malformed)]
    assert problems == [
        f"{agents}: table agent_messages, row 3, field message_data: must be an object; it is [1]",
        f"{agents}: table agent_messages, row 4, field message_data: must be JSON text; it is NULL",
    ]


def test_an_address_of_sqlalchemy_names_the_same_file(agents: Path) -> None:
    assert len(items(f"sqlite+aiosqlite:///{str(agents).replace('?', '%3F').replace('#', '%23')}")) == len(items(agents))


def test_progress_is_in_bytes_of_all_inputs(agents: Path, tmp_path: Path) -> None:
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"role": "user", "content": "x"}\n')
    inputs = Inputs(opened(str(each), None, OPTIONS) for each in (chat, agents))
    assert inputs.progress() == (0, None), "a database is not open yet"
    for each in inputs:
        list(each)
    read, total = inputs.progress()
    assert total == chat.stat().st_size + agents.stat().st_size
    assert read == chat.stat().st_size + agents.stat().st_size / 2, "of four rows two are events"


@pytest.mark.parametrize(
    ("source", "form", "text"),
    [
        ("-", "adk", "standard input; --format for it is"),
        ("{agents}", "sgd", "a SQLite database; --format for it is adk, openai-agents, langgraph, not sgd"),
        ("{folder}", "openai", "a directory; --format for it is claude, not openai"),
        ("postgresql://u:secret@h/d", "claude", "postgresql://u@h/d is a PostgreSQL database"),
        ("mysql://u:secret@h/d", None, "mysql://u@h/d is no database that import can read"),
    ],
)
def test_a_source_that_cannot_have_the_format_is_a_wrong_command_line(
    agents: Path, tmp_path: Path, source: str, form: str | None, text: str
) -> None:
    with pytest.raises(CliError) as raised:
        opened(source.format(agents=agents, folder=tmp_path), form, OPTIONS)
    assert text in raised.value.message
    assert "secret" not in raised.value.message
    assert raised.value.code == 2


def test_a_database_without_known_tables_says_which_it_has(tmp_path: Path) -> None:
    path = database(tmp_path / "x.db", "CREATE TABLE orders (id TEXT)", "CREATE TABLE clients (id TEXT)")
    (problem,) = items(path)
    assert isinstance(problem, Malformed)
    assert str(problem) == f"{path}: it has no tables of adk or openai-agents or langgraph; it has clients, orders"
    assert problem.fatal


def test_a_damaged_database_is_named(agents: Path) -> None:
    content = agents.read_bytes()
    agents.write_bytes(content[:100] + b"\xff" * 4000 + content[4100:])
    (problem,) = items(agents)
    assert isinstance(problem, Malformed)
    assert str(problem).startswith(f"{agents}: SQLite: ")


def test_a_folder_without_transcripts_is_named(tmp_path: Path) -> None:
    (problem,) = items(tmp_path)
    assert str(problem) == f"{tmp_path}: it contains no transcript (*.jsonl)"


def test_a_transcript_is_known_by_its_first_line_and_other_lines_are_files(tmp_path: Path) -> None:
    line = {"type": "user", "sessionId": "s", "parentUuid": None, "uuid": "u1", "message": {"role": "user", "content": "hi"}}
    transcript, chat = tmp_path / "s.jsonl", tmp_path / "chat.jsonl"
    transcript.write_text(json.dumps(line) + "\n")
    chat.write_text('{"role": "user", "content": "hi"}\n')
    start, event = items(transcript)
    assert isinstance(start, SessionStart)
    assert isinstance(event, EventItem)
    assert (start.session.ref.app, start.session.ref.session_id, event.event.event_id) == (tmp_path.name, "s", "u1")
    assert event.event.native.format == "claude.transcript.line/1"
    assert [each.event.native.format for each in items(chat) if isinstance(each, EventItem)] == ["openai.chat.message/1"]


def test_distinct_values_of_several_tables_are_found_in_order(tmp_path: Path) -> None:
    path = database(
        tmp_path / "x.db",
        "CREATE TABLE a (k TEXT)",
        'CREATE TABLE "b ""x" (k TEXT)',
        "INSERT INTO a VALUES ('m'), (''), ('m'), ('z')",
        "INSERT INTO \"b \"\"x\" VALUES ('b'), ('z')",
    )
    source = SqliteDatabase(path)
    assert list(following(source, "k", ("a", 'b "x'))) == ["", "b", "m", "z"]
    source.close()


def test_a_database_is_not_changed_and_none_is_made(agents: Path, tmp_path: Path) -> None:
    source = SqliteDatabase(agents)
    with pytest.raises(SourceError, match="readonly"):
        list(source.rows("DELETE FROM agent_messages"))
    source.close()
    with pytest.raises(SourceError, match="unable to open"):
        SqliteDatabase(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


def test_postgres_without_a_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("threadkeep.cli.sources.postgres.importlib", SimpleNamespace(import_module=missing))
    with pytest.raises(SourceError, match=HOW_TO_INSTALL):
        PostgresDatabase("postgresql://h/d")


def test_a_postgres_that_does_not_answer_is_named_without_the_password() -> None:
    (problem,) = items("postgresql+psycopg://u:secret@127.0.0.1:1/d?password=secret")
    assert isinstance(problem, Malformed)
    assert str(problem).startswith("postgresql+psycopg://u@127.0.0.1:1/d: PostgreSQL: ")
    assert "secret" not in str(problem)


def test_the_address_is_shown_without_password_and_parameters() -> None:
    assert shown_url("postgresql://u:p@w@h:5/d?password=x") == "postgresql://u@h:5/d"
    assert shown_url("postgresql://h/d") == "postgresql://h/d"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1_700_000_000.123456, "2023-11-14T22:13:20.123456Z"),
        (0, "1970-01-01T00:00:00Z"),
        ("2024-02-29 12:00:01", "2024-02-29T12:00:01Z"),
        ("2024-02-29 12:00:01.000002", "2024-02-29T12:00:01.000002Z"),
        ("2024-02-29 12:00:01+02:00", "2024-02-29T10:00:01Z"),
        (datetime(2024, 2, 29, 12, tzinfo=UTC).replace(tzinfo=None), "2024-02-29T12:00:00Z"),
        (datetime(2024, 2, 29, 12, tzinfo=timezone(timedelta(hours=-1))), "2024-02-29T13:00:00Z"),
    ],
)
def test_times_of_columns_are_utc(value: object, text: str) -> None:
    found = time_of(value, "at")
    assert found is not None
    assert found.ToJsonString() == text


@pytest.mark.parametrize("value", ["yesterday", "", 1e300])
def test_a_time_that_is_none_is_refused(value: object) -> None:
    with pytest.raises(FieldError, match="must be a time"):
        time_of(value, "at")
    assert time_of(None, "at") is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "it is NULL"), (5, "it is int"), ("[]", "must be an object"), ("{", "not valid JSON"), (b'{"\xff', "not UTF-8")],
)
def test_a_column_without_a_json_object_is_refused(value: object, text: str) -> None:
    with pytest.raises(FieldError, match=text):
        json_object(value, "data")
    assert json_object(b'{"a": 1}', "data") == {"a": 1}
