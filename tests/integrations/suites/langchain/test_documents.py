"""The example and the page of the documentation run."""

from __future__ import annotations

from tests.integrations.suites.langgraph.test_documents import example_output, page_output

PRINTED = """\
It is 4 °C in Oslo.
I read 6 messages.
user - How is the weather in Oslo?
assistant - ['weather']
tool - ['4 °C in Oslo']
assistant - It is 4 °C in Oslo.
assistant planner Rain from six o'clock.
user - What did you read?
assistant - I read 6 messages.
assistant planner Rain from six o'clock.
"""


def test_example_prints_the_conversation(address: str) -> None:
    assert example_output("langchain_agent.py", address) == PRINTED


def test_ten_lines_of_the_page_run(address: str) -> None:
    assert page_output("langchain.md", address) == "Hello, Ada.\n"
