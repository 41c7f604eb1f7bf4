"""Log lines: one record a line, machine-readable or human-readable."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from datetime import datetime

import pytest

from threadkeep_server.logs import setup_logging


@pytest.fixture(autouse=True)
def logging_restored() -> Iterator[None]:
    """What setup_logging changes is the process's; give it back."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in logging.root.manager.loggerDict}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in logging.root.manager.loggerDict:
        logging.getLogger(name).setLevel(levels.get(name, logging.NOTSET))
    logging.captureWarnings(capture=False)


def _lines(format: str, level: str = "info") -> tuple[logging.Logger, io.StringIO]:  # noqa: A002
    stream = io.StringIO()
    setup_logging(level, format, stream)
    # Ours alone: pytest keeps what it captures, and xdist cannot send a text that is no Unicode.
    root = logging.getLogger()
    root.handlers[:] = [each for each in root.handlers if isinstance(each, logging.StreamHandler) and each.stream is stream]
    return logging.getLogger("threadkeep_server.test"), stream


def test_json_has_time_level_logger_message_and_extra() -> None:
    log, stream = _lines("json")
    log.info("stored %d events", 3, extra={"session": "s1", "took_ms": 1.5})
    line = json.loads(stream.getvalue())
    assert datetime.fromisoformat(line.pop("ts")).utcoffset() is not None
    assert line == {
        "level": "info",
        "logger": "threadkeep_server.test",
        "message": "stored 3 events",
        "session": "s1",
        "took_ms": 1.5,
    }


def test_json_is_one_line_a_record_even_with_an_exception() -> None:
    log, stream = _lines("json")
    try:
        raise ValueError("a\nb")
    except ValueError:
        log.exception("first\nsecond")
    lines = stream.getvalue().splitlines()
    assert len(lines) == 1
    assert "ValueError" in json.loads(lines[0])["exception"]


def test_json_takes_extra_of_any_type_and_any_text() -> None:
    log, stream = _lines("json")
    log.info("\ud800", extra={"when": datetime(2026, 1, 1), "level_": b"\xff"})  # noqa: DTZ001
    line = json.loads(stream.getvalue())
    assert line["message"] == "\ud800"
    assert line["when"] == "2026-01-01 00:00:00"


def test_text_reads_as_a_sentence_and_hides_no_control_character() -> None:
    log, stream = _lines("text")
    log.warning("slow\nfake line \x1b[31m", extra={"took_ms": 9})
    line = stream.getvalue()
    assert line.endswith("WARNING threadkeep_server.test: slow\\nfake line \\x1b[31m took_ms=9\n")
    assert line.count("\n") == 1


def test_the_log_level_is_applied() -> None:
    log, stream = _lines("text", "warning")
    log.info("no")
    log.warning("yes")
    assert stream.getvalue().count("\n") == 1
    assert "yes" in stream.getvalue()


def test_libraries_log_from_warnings_on() -> None:
    _, stream = _lines("text", "debug")
    logging.getLogger("uvicorn.error").info("no")
    logging.getLogger("uvicorn.error").warning("yes")
    assert stream.getvalue().count("\n") == 1


def test_setting_up_again_replaces_the_first_set_up() -> None:
    _, first = _lines("text")
    log, second = _lines("json")
    log.info("once")
    assert first.getvalue() == ""
    assert second.getvalue().count("\n") == 1


def test_logs_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    setup_logging("info", "text")
    logging.getLogger("threadkeep_server.test").info("here")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "here" in captured.err
