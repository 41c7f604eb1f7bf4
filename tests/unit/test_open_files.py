from __future__ import annotations

import resource

import pytest

from threadkeep_server.app.open_files import most_connections, raise_open_files


def test_the_limit_is_raised_as_far_as_the_system_allows() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[0] - 1, before[1]))
    try:
        raise_open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == before[1]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(("files", "each"), [(1024, 384), (100, 1), (1 << 20, 10_000), (resource.RLIM_INFINITY, 10_000)])
def test_connections_leave_files_for_the_database(monkeypatch: pytest.MonkeyPatch, files: int, each: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert most_connections(10_000, ports=2) == each
