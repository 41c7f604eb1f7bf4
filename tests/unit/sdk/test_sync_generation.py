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
    assert {package.name: list(tool.drift(package)) for package in tool.PACKAGES} == {"threadkeep": [], "chat": []}


def test_changed_missing_and_extra_files_are_drift(tool: ModuleType, tmp_path: Path) -> None:
    for folder in ("_async", "_sync"):
        (tmp_path / folder).mkdir()
    for name in ("a.py", "b.py"):
        (tmp_path / "_async" / name).write_text("async def f() -> None:\n    await g()\n")
    (tmp_path / "_sync/a.py").write_text("def f() -> None:\n    h()\n")
    (tmp_path / "_sync/c.py").write_text("")
    assert list(tool.drift(tmp_path)) == ["a.py: differs", "b.py: missing", "c.py: not generated"]
    assert tool.generated(tmp_path)[tmp_path / "_sync/b.py"] == tool.HEADER + "def f() -> None:\n    g()\n"


@pytest.mark.parametrize(
    "source", ["asyncio.sleep(1)", "async with asyncio.timeout(1): ...", "class asyncthing: ...", "a.aiter_async()", "def f(:"]
)
def test_asynchronous_code_without_a_rule_is_rejected(tool: ModuleType, source: str) -> None:
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


IMPORTS = "import asyncio\nfrom collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Iterable\n\n"
STUBS = "from typing import TYPE_CHECKING, cast\n\nfrom a import XStub\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(
            "async def f() -> None:\n    # first, await g()\n    await g()  # an async call\n",
            "def f() -> None:\n    # first, g()\n    g()  # an async call\n",
            id="comments are kept",
        ),
        pytest.param(
            "async def f():\n    return (await g(1)).value + (await h).x + (await i or 2)\n",
            "def f():\n    return g(1).value + h.x + (i or 2)\n",
            id="parentheses go where only the await needed them",
        ),
        pytest.param(
            "async def f():\n    return g(await h()), [x async for x in y if await x]\n",
            "def f():\n    return g(h()), [x for x in y if x]\n",
            id="calls keep their parentheses",
        ),
        pytest.param(
            IMPORTS + "\nasync def f(x: AsyncIterable[int] | Iterable[int], y: Awaitable[int]) -> AsyncGenerator[int]: ...\n",
            "from collections.abc import Generator, Iterable\n\n\ndef f(x: Iterable[int], y: int) -> Generator[int]: ...\n",
            id="types and imports that lose their use",
        ),
        pytest.param(
            "import asyncio\n\nimport grpc\nimport grpc.aio\n\n\nx: grpc.aio.Channel = asyncio.Lock()\n",
            "import threading\n\nimport grpc\n\nx: grpc.Channel = threading.Lock()\n",
            id="attributes of modules",
        ),
        pytest.param(
            STUBS + 'if TYPE_CHECKING:\n    from a import XAsyncStub\n\nx = cast("XAsyncStub", XStub(1))\n',
            "from a import XStub\n\nx = XStub(1)\n",
            id="stubs for type checkers",
        ),
        pytest.param(
            'class AsyncA(AsyncB):\n    def f(self):\n        """See `AsyncC`: `await x.f()`; ü."""; return AsyncD\n',
            'class A(B):\n    def f(self):\n        """See `C`: `x.f()`; ü."""\n        return D\n',
            id="classes, docstrings, characters of several bytes",
        ),
        pytest.param(
            "import asyncio\n\n\nasync def f(a):\n    return await asyncio.to_thread(a.b)\n",
            "def f(a):\n    return a.b()\n",
            id="work in a thread",
        ),
        pytest.param(
            "async def f(x):\n    return _each(x)\n\n\nasync def _each(y):\n    yield y\n",
            "def f(x):\n    return x\n",
            id="adapters of iterables",
        ),
    ],
)
def test_a_construct_has_its_synchronous_form(tool: ModuleType, source: str, expected: str) -> None:
    header, _, text = tool.to_sync(source, "x.py").partition("\n")
    assert header + "\n" == tool.HEADER
    assert text.lstrip("\n") == expected


def test_the_method_that_closes_a_stream_is_renamed(tool: ModuleType) -> None:
    assert tool.to_sync('x = hasattr(pieces, "aclose")\n', "x.py") == tool.HEADER + 'x = hasattr(pieces, "close")\n'


def test_a_step_of_a_stream_has_both_forms(tool: ModuleType) -> None:
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
def test_a_response_context_has_both_forms(tool: ModuleType, source: str, expected: str) -> None:
    assert tool.to_sync(source, "x.py") == tool.HEADER + expected
