"""The suite's assertions explain themselves although it is not in test files."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.store.rows", "tests.store.suite")
