"""The span of a unit of work, named after the function in the code. Statements and parameters are not recorded."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final

from ....telemetry.spans import NOTHING, SpanKind, recorded, span
from .base import Unit

_LOCALS: Final = ".<locals>"


def unit_span(system: str, operation: str, unit: Unit[Any]) -> AbstractContextManager[object]:
    """Returns a context in which the unit runs. `system`: the database, by the names of OpenTelemetry."""
    if recorded() is None:
        return NOTHING
    attributes = {"db.system.name": system, "db.operation.name": operation, "db.query.summary": named(unit)}
    return span(f"sql {operation}", attributes, SpanKind.CLIENT)


def named(unit: Unit[Any]) -> str:
    """Returns the name of the function of a unit, or of the one that made it."""
    while isinstance(unit, partial):
        unit = unit.func
    name = getattr(unit, "__qualname__", None) or type(unit).__qualname__
    return str(name).partition(_LOCALS)[0]
