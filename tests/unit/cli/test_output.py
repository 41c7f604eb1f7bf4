"""What is written for eyes and for programs."""

from __future__ import annotations

import pytest

from threadkeep import SessionEvent, assistant, media, tool_call, tool_result, user
from threadkeep.cli import main
from threadkeep.cli.errors import CliError, Exit, from_server, report
from threadkeep.cli.render.output import event_json, excerpt, plain, shown_time, summary_of
from threadkeep.errors import InvalidField, PermissionDenied, SessionNotFound, StoreUnavailable, Unavailable


def test_excerpts_contain_the_searched_words() -> None:
    text = "x " * 200 + "Needle in it" + " y" * 200
    shown = excerpt(text, "needle", width=60)
    assert "Needle" in shown.plain
    assert shown.plain.startswith("…")
    assert len(shown.plain) <= 62
    assert [shown.plain[span.start : span.end] for span in shown.spans] == ["Needle"]
    assert excerpt("a\n\tb").plain == "a b"


def test_stored_text_cannot_command_the_terminal() -> None:
    assert plain("a\x1b[2Jb\x07\u202e\n") == "a\ufffd[2Jb\ufffd\ufffd\n"
    assert excerpt("[red]\x1b]0;x\x07").plain == "[red]\ufffd]0;x\ufffd"


def test_a_summary_names_calls_results_and_media() -> None:
    event = assistant("wait", tool_calls=[tool_call("c", "f", '{"a":1}')])
    assert summary_of(event) == 'wait → f({"a":1})'
    assert summary_of(tool_result("c", "42", name="f")) == "← f: 42"
    assert summary_of(user([media("image/png", uri="u")])) == "[image/png]"


def test_json_of_an_event_has_numbers_and_short_names() -> None:
    event = user("hi", event_id="e", event_time=1_000_000_001)
    event.seq = 7
    event.native.content = b"\x00"
    assert event_json(event) == {
        "seq": 7,
        "event_id": "e",
        "role": "user",
        "text": "hi",
        "message": {"role": "user", "parts": [{"text": "hi"}]},
        "event_time": "1970-01-01T00:00:01.000000001Z",
        "native": {"content": "AA=="},
    }
    assert event_json(SessionEvent())["role"] == ""


def test_no_time_is_shown_as_nothing() -> None:
    assert shown_time(SessionEvent().record_time) == ""


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SessionNotFound("no session 's'; create it"), Exit.NOT_FOUND),
        (Unavailable("failed to connect"), Exit.UNAVAILABLE),
        (StoreUnavailable("the store refused"), Exit.UNAVAILABLE),
        (InvalidField("filter.last_n must be at least 1"), Exit.FAILED),
    ],
)
def test_exit_codes(error: Exception, code: Exit, capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(error, Unavailable | SessionNotFound | InvalidField)
    assert report(from_server(error), as_json=False) == code
    written = capsys.readouterr().err
    assert written.startswith("error: ")
    assert written.count("\n") == 1


def test_an_unreachable_server_is_reported_in_one_line_with_instructions() -> None:
    reported = from_server(Unavailable("no server at h:1 (Connection refused); start one with `threadkeep serve`"))
    assert reported.message == "no server at h:1 (Connection refused); start one with `threadkeep serve`, or give --address"
    assert from_server(Unavailable("h:1 speaks HTTP, not gRPC")).message == "h:1 speaks HTTP, not gRPC"


def test_an_error_in_a_field_set_by_an_option_names_the_option() -> None:
    missing = InvalidField("session.user_id: is required; set it", metadata={"field": "session.user_id"})
    assert from_server(missing).message == "session.user_id: is required; give --user"


def test_errors_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    report(CliError("no", reason="R", metadata={"a": 1}), as_json=True)
    assert capsys.readouterr().err == '{"error": {"reason": "R", "message": "no", "metadata": {"a": 1}, "exit_code": 1}}\n'


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--version"], 0, "threadkeep "),
        ([], 0, "Usage: threadkeep"),
        (["--help"], 0, "Exit codes"),
        (["import", "--help"], 0, "--on-error"),
        (["nonsense"], 2, "No such command"),
        (["events", "list"], 2, "Missing argument"),
        (["events", "append", "s"], 2, "give the text once"),
        (["events", "append", "s", "x", "--role", "tool"], 2, "--call-id"),
        (["sessions", "list", "--label", "x"], 2, "KEY=VALUE"),
        (["sessions", "delete", "s", "--json"], 2, "--yes"),
        (["export", "--json"], 2, "-o"),
        (["import", "a", "b", "--prefix", "x"], 2, "one source"),
        (["import", "no-such-file"], 1, "no-such-file: No such file"),
        (["info", "--address", "127.0.0.1:1"], 4, "threadkeep serve"),
    ],
)
def test_command_lines(arguments: list[str], code: int, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert text in (err if code else out)
    assert "Traceback" not in err


def test_a_denied_scope_is_reported_with_the_option_that_helps() -> None:
    denied = PermissionDenied("session.user_id: this is beyond that user; leave it empty, or use a credential that reaches it")
    assert from_server(denied).message == "session.user_id: this is beyond that user; give a --token that reaches it"
