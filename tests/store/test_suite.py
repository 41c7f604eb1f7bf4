"""The suites include every class in rows/."""

from __future__ import annotations

import importlib
import pkgutil

from tests.store import rows
from tests.store.suite import DurableSuite, SharedSuite, StoreSuite


def test_every_class_of_rows_is_in_a_suite() -> None:
    modules = [importlib.import_module(each.name) for each in pkgutil.walk_packages(rows.__path__, f"{rows.__name__}.")]
    written = {each for module in modules for name, each in vars(module).items() if name.endswith("Rows")}
    left = written - {*StoreSuite.__mro__, *DurableSuite.__mro__, *SharedSuite.__mro__}
    assert not left, "name them in tests/store/suite.py"
