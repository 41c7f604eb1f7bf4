"""What an import says of the records that it could not import."""

from __future__ import annotations

import grpc
import pytest

from threadkeep.cli.commands.import_export import _raise_for
from threadkeep.cli.errors import CliError
from threadkeep.cli.formats.items import Origin
from threadkeep.cli.options import Cli
from threadkeep.cli.session_writer import Problem, Tally
from threadkeep.errors import ThreadkeepError, Unavailable

ROW = Origin("app.db", 3, table="events", row="a / u / s / e1")


def said(problem: Problem) -> str:
    with pytest.raises(CliError) as raised:
        _raise_for(Cli(), Tally(problems=[problem]), stopped=True)
    return str(raised.value)


def test_record_that_is_too_large_to_send_is_named() -> None:
    error = ThreadkeepError("the request has 80 bytes", code=grpc.StatusCode.RESOURCE_EXHAUSTED)
    text = said(Problem(ROW, error.message, error.reason, error=error))
    assert text.startswith("app.db: table events, row a / u / s / e1: the request has 80 bytes; ")
    assert "--on-error skip" in text


def test_server_that_is_gone_is_not_a_problem_of_the_record() -> None:
    error = Unavailable(
        "no server at db:1 (Connection refused (111)); start one with `threadkeep serve`", code=grpc.StatusCode.UNAVAILABLE
    )
    assert said(Problem(ROW, error.message, error.reason, error=error)).startswith("no server at db:1")


def test_long_name_of_a_row_is_shortened() -> None:
    assert str(Origin("app.db", 3, table="events", row="x" * 5_000)) == f"app.db: table events, row {'x' * 200}…"
