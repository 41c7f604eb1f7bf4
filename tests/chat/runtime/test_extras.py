"""The kit without an optional library, in processes that hide it."""

from __future__ import annotations

import subprocess
import sys

import pytest

HIDING = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name.partition(".")[0])

sys.meta_path.insert(0, Hidden())
"""
CONVERSATION = """
import asyncio
from threadkeep import chat

CALL = chat.assistant(tool_calls=[chat.ToolCall("c1", "clock", "{}")])

def clock() -> str:
    raise ValueError("it has stopped")

def replies():
    return [CALL, lambda prompt: prompt.messages[-1].tool_results[0].text]

async def main():
    client = chat.AsyncChatClient(chat.AsyncScriptedModel(replies() * 2), tools=[clock])
    print((await client.prompt("What time is it?").call()).text)
    print("".join([chunk.text async for chunk in client.prompt("What time is it?").stream()]))

asyncio.run(main())
client = chat.ChatClient(chat.ScriptedModel(replies() * 2), tools=[clock])
print(client.prompt("What time is it?").call().text)
print("".join(chunk.text for chunk in client.prompt("What time is it?").stream()))
try:
    client.mutate(record_content=True)
except ImportError as error:
    print(error)
assert "opentelemetry" not in sys.modules
"""


def run(program: str, *hidden: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", HIDING.format(hidden=hidden) + program]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


EXTRA = 'which is not installed: pip install "threadkeep[chat]"'
VENDORS = {"AnthropicModel": "anthropic", "GeminiModel": "httpx2", "OpenAIModel": "httpx2"}
ADAPTERS = """
from threadkeep import chat

for name in ("AnthropicModel", "GeminiModel", "OpenAIModel", "McpServer"):
    for form in ("", "Async"):
        try:
            getattr(chat, form + name)(["server"])
        except ImportError as error:
            print(error)
            assert error.__cause__ is None and error.__suppress_context__
"""


@pytest.mark.parametrize("hidden", ["pydantic", "jsonschema"])
def test_import_without_required_library_names_the_extra(hidden: str) -> None:
    done = run("import threadkeep.chat", hidden)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"ImportError: threadkeep.chat needs {hidden}, {EXTRA}"
    assert "During handling" not in done.stderr
    assert "direct cause" not in done.stderr


def test_model_without_vendor_library_names_the_extra() -> None:
    done = run(ADAPTERS, "anthropic", "httpx2", "mcp", "openai")
    vendors = [f"{form}{name} needs {library}, {EXTRA}" for name, library in VENDORS.items() for form in ("", "Async")]
    assert done.stdout.splitlines() == [*vendors, *[f"McpServer needs mcp, {EXTRA}"] * 2], done.stderr


def test_kit_without_opentelemetry_works_and_records_nothing() -> None:
    done = run(CONVERSATION, "opentelemetry")
    assert done.returncode == 0, done.stderr
    *answers, refusal = done.stdout.splitlines()
    assert answers == ["it has stopped"] * 4
    assert refusal == 'telemetry needs opentelemetry, which is not installed: pip install "threadkeep[telemetry]"'
