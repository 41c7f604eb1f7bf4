"""Sessions with models of several vendors: signed content goes back unchanged to the vendor that signed it, and to no other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from threadkeep.chat import ModelFailed, function_tool

from ...support.models.model_endpoint import Behaviour
from ..async_and_sync import text_of
from ..conversations import Talk
from ..fakes import loopback as openai
from ..fakes import loopback_anthropic as anthropic
from ..fakes import loopback_gemini as gemini
from ..fakes.loopback import Loopback, events, loopback, refuses, replies
from ..fakes.vendors import ANTHROPIC, GEMINI, OPENAI, Vendor

CITY = {"city": "Oslo"}
SECRET = "c2lnbmF0dXJlL29mK3RoZW0="
THOUGHT = {"type": "thinking", "thinking": "The user wants the weather.", "signature": SECRET}
HIDDEN = {"type": "redacted_thinking", "data": "aGlkZGVuK3RoZXJl"}
CALL = anthropic.tool_use("a1", "weather", CITY)
SIGNED_CALL = gemini.function_call("weather", CITY, call_id="g1", signature=SECRET)


def weather(city: str) -> str:
    """Returns the weather."""
    return f"rain in {city}"


@dataclass(frozen=True)
class Speaking:
    """A client whose model has its own endpoint."""

    talk: Talk
    vendor: Vendor
    endpoint: Loopback
    client: Any

    def does(self, *answers: tuple[Any, list[Any]] | Behaviour) -> None:
        """Sets the next answers of the endpoint; a pair is an answer, whole and as events."""
        streams = self.talk.way.streams
        self.endpoint.does(
            *(
                (events(each[1], done=self.vendor.done, cut=11) if streams else replies(each[0]))
                if isinstance(each, tuple)
                else each
                for each in answers
            )
        )

    def answer_saying(self, text: str) -> tuple[Any, list[Any]]:
        return self.vendor.whole(text), self.vendor.events(text)

    async def ask(self, said: str) -> str:
        return text_of(await self.talk.way.ask(self.client.prompt(said).session(self.talk.session)))

    async def resume(self) -> str:
        prompt = self.client.prompt().session(self.talk.session)
        if self.talk.way.streams:
            return text_of(await self.talk.kit.all(prompt.resume_stream()))
        return str((await self.talk.kit.of(prompt.resume)).text)

    @property
    def sent(self) -> Any:
        """The JSON of the last request."""
        return self.endpoint.body


Speak = Callable[[Vendor], Any]


@pytest.fixture
async def speak(talk: Talk) -> AsyncIterator[Speak]:
    """Opens a client of a vendor with its own memory advisor, as another process would."""
    async with AsyncExitStack() as stack:
        yield lambda vendor: stack.enter_async_context(_speaking(talk, vendor))


@asynccontextmanager
async def _speaking(talk: Talk, vendor: Vendor) -> AsyncIterator[Speaking]:
    async with loopback(vendor.name) as endpoint:
        model = vendor.model(talk.kit, endpoint, max_retries=0)
        client = talk.kit.ChatClient(model, tools=[function_tool(weather)], advisors=[talk.memory()])
        yield Speaking(talk, vendor, endpoint, client)
        await talk.kit.of(model.close)


def _thinks() -> tuple[Any, list[Any]]:
    whole = anthropic.message(THOUGHT, HIDDEN, "I look.", CALL, reason="tool_use")
    return whole, anthropic.streamed(whole)


async def test_signed_thinking_is_sent_back_unchanged_in_next_round_and_turn(talk: Talk, speak: Speak) -> None:
    claude = await speak(ANTHROPIC)
    claude.does(_thinks(), claude.answer_saying("Rain."), claude.answer_saying("Yes."))
    said = [THOUGHT, HIDDEN, {"type": "text", "text": "I look."}, CALL]
    assert (await claude.ask("How is it?")).endswith("Rain.")
    assert claude.sent["messages"][1]["content"] == said
    assert await talk.log() == [
        "user: How is it?",
        "assistant: I look. [weather a1]",
        "tool: a1=rain in Oslo",
        "assistant: Rain.",
    ]
    assert await claude.ask("Really?") == "Yes."
    assert claude.sent["messages"][1]["content"] == said
    assert [each["role"] for each in claude.sent["messages"]] == ["user", "assistant", "user", "assistant", "user"]


async def test_signed_thinking_is_sent_back_from_the_log_by_another_process(talk: Talk, speak: Speak) -> None:
    claude, later = await speak(ANTHROPIC), await speak(ANTHROPIC)
    claude.does(_thinks(), refuses(529, "overloaded"))
    with pytest.raises(ModelFailed):
        await claude.ask("How is it?")
    later.does(later.answer_saying("Rain."))
    assert await later.resume() == "Rain."
    assert later.sent["messages"] == claude.sent["messages"]
    assert later.sent["messages"][1]["content"][:2] == [THOUGHT, HIDDEN]
    assert (await talk.log())[-1] == "assistant: Rain."


async def test_gemini_signature_is_sent_back_with_its_part(talk: Talk, speak: Speak) -> None:
    model, later = await speak(GEMINI), await speak(GEMINI)
    model.does((gemini.content(SIGNED_CALL), gemini.streamed(SIGNED_CALL)), model.answer_saying("Rain."))
    assert await model.ask("How is it?") == "Rain."
    assert model.sent["contents"][1]["parts"] == [SIGNED_CALL]
    later.does(later.answer_saying("Yes."))
    assert await later.ask("Really?") == "Yes."
    assert later.sent["contents"][1]["parts"] == [SIGNED_CALL]
    assert [each["role"] for each in later.sent["contents"]] == ["user", "model", "user", "model", "user"]


async def test_session_across_vendors_sends_signatures_only_to_their_vendor(talk: Talk, speak: Speak) -> None:
    claude, model, other = await speak(ANTHROPIC), await speak(GEMINI), await speak(OPENAI)
    claude.does(_thinks(), claude.answer_saying("Rain."))
    await claude.ask("one?")
    model.does((gemini.content(SIGNED_CALL), gemini.streamed(SIGNED_CALL)), model.answer_saying("Still rain."))
    await model.ask("two?")
    assert SECRET not in str(model.sent["contents"][:-2]), "the signature of Anthropic is not sent to Gemini"
    assert [each["role"] for each in model.sent["contents"]] == ["user", "model", "user", "model", "user", "model", "user"]
    call = openai.call("o1", "weather", '{"city": "Oslo"}')
    answer_calling = openai.completion(calls=[call]), [*openai.calls_in_deltas([call]), openai.chunk({}, reason="tool_calls")]
    other.does(answer_calling, other.answer_saying("Rain."))
    await other.ask("three?")
    assert SECRET not in str(other.sent)
    pairs = [(each["role"], [call["id"] for call in each.get("tool_calls", [])]) for each in other.sent["messages"]]
    assert [ids for role, ids in pairs if role == "assistant"] == [["a1"], [], ["g1"], [], ["o1"]]
    claude.does(claude.answer_saying("Rain forever."))
    assert await claude.ask("four?") == "Rain forever."
    assert claude.sent["messages"][1]["content"][:2] == [THOUGHT, HIDDEN], "Anthropic gets its own signature back"
    assert str(claude.sent).count(SECRET) == 1
    log = await talk.log()
    assert [each.partition(":")[0] for each in log] == ["user", "assistant", "tool", "assistant"] * 3 + ["user", "assistant"]
