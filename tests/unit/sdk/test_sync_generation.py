from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

import pytest

import threadkeep

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("async_to_sync", ROOT / "tools/async_to_sync.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_synchronous_client_is_up_to_date(tool: ModuleType) -> None:
    assert [problem for package in tool.PACKAGES for problem in tool.drift(package)] == []


def test_changed_missing_and_extra_files_are_drift(tool: ModuleType, tmp_path: Path) -> None:
    for folder in ("_async", "_sync"):
        (tmp_path / folder).mkdir()
    for name in ("a.py", "b.py"):
        (tmp_path / "_async" / name).write_text("async def f() -> None:\n    await g()\n")
    (tmp_path / "_sync/a.py").write_text("def f() -> None:\n    h()\n")
    (tmp_path / "_sync/c.py").write_text("")
    assert tool.drift(tmp_path) == ["_sync/a.py: differs", "_sync/b.py: missing", "_sync/c.py: not generated"]
    assert tool.generated(tmp_path)[tmp_path / "_sync/b.py"] == tool.HEADER + "def f() -> None:\n    g()\n"


@pytest.mark.parametrize(
    "source", ["x = [await\ny for y in z]", "asyncio.sleep(1)", "class asyncthing: ...", "a.aiter_async()"]
)
def test_asynchronous_code_without_a_rule_is_refused(tool: ModuleType, source: str) -> None:
    with pytest.raises((SystemExit, SyntaxError)):
        tool.to_sync(source, "x.py")


def test_both_clients_have_the_same_methods_and_parameters() -> None:
    def signatures(cls: type) -> dict[str, list[str]]:
        return {
            name: list(inspect.signature(member).parameters)
            for name, member in inspect.getmembers(cls, inspect.isfunction)
            if not name.startswith("_")
        }

    assert signatures(threadkeep.AsyncClient) == signatures(threadkeep.Client)


def test_everything_public_is_documented() -> None:
    for name in threadkeep.__all__:
        member = getattr(threadkeep, name)
        assert name.startswith("__") or member.__doc__ or member.DESCRIPTOR, name
    for cls in (threadkeep.AsyncClient, threadkeep.Client):
        for name, member in inspect.getmembers(cls, inspect.isfunction):
            assert name.startswith("_") or member.__doc__, name


def test_what_closes_a_stream_has_its_name_in_each_form(tool: ModuleType) -> None:
    assert tool.to_sync('x = hasattr(pieces, "aclose")\n', "x.py") == tool.HEADER + 'x = hasattr(pieces, "close")\n'


def test_a_step_of_a_stream_is_taken_in_both_forms(tool: ModuleType) -> None:
    source = "async def f(items):\n    return await anext(items, None)\n"
    assert tool.to_sync(source, "x.py") == tool.HEADER + "def f(items):\n    return next(items, None)\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "@asynccontextmanager\nasync def f() -> AsyncGenerator[a.B, None]:\n    await s.enter_async_context(r.aread())\n",
            "@contextmanager\ndef f() -> Generator[a.B, None, None]:\n    s.enter_context(r.read())\n",
        ),
        (
            "x: AbstractAsyncContextManager[A] = lib.DefaultAsyncHttpxClient()\n",
            "x: AbstractContextManager[A] = lib.DefaultHttpxClient()\n",
        ),
        (
            "async for each in response.aiter_bytes():\n    await client.aclose()\n",
            "for each in response.iter_bytes():\n    client.close()\n",
        ),
    ],
)
def test_what_holds_a_response_has_both_forms(tool: ModuleType, source: str, expected: str) -> None:
    assert tool.to_sync(source, "x.py") == tool.HEADER + expected
