"""The parameter of row-level security."""

from __future__ import annotations

from threadkeep_server.store.sql.schema.row_security import tenants_value


def test_names_of_tenants_are_quoted_as_elements_of_an_array() -> None:
    assert tenants_value(['b"', "a\\"]) == '{"a\\\\","b\\""}'
