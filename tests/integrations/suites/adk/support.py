"""Events, a scripted model, and shorter calls of the service."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.events import Event, EventActions
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types
from pydantic import PrivateAttr

from threadkeep.integrations.adk import ThreadkeepSessionService

USER = "u1"


def said(text: str, *, author: str = "user", **fields: Any) -> Event:
    """An event with a text."""
    role = "user" if author == "user" else "model"
    return Event(author=author, content=types.Content(role=role, parts=[types.Part(text=text)]), **fields)


def changed(delta: dict[str, Any], **fields: Any) -> Event:
    """An event that changes state."""
    return Event(author="agent", actions=EventActions(state_delta=delta), **fields)


def texts(session: Session | None) -> list[str]:
    """The texts of the events, in order."""
    assert session is not None
    parts = (part for event in session.events if event.content for part in event.content.parts or ())
    return [part.text for part in parts if part.text]


async def read(service: ThreadkeepSessionService, app: str, session_id: str, *, user: str = USER, **config: Any) -> Session:
    """The session, which exists."""
    chosen = GetSessionConfig(**config) if config else None
    session = await service.get_session(app_name=app, user_id=user, session_id=session_id, config=chosen)
    assert session is not None
    return session


def content(*parts: types.Part) -> types.Content:
    """What a model says."""
    return types.Content(role="model", parts=list(parts))


def call(name: str, call_id: str, **arguments: Any) -> types.Part:
    """A call of a function."""
    return types.Part(function_call=types.FunctionCall(id=call_id, name=name, args=arguments))


class Scripted(BaseLlm):
    """A model that says what it was given, one answer after the other, and keeps its requests."""

    model: str = "scripted"
    answers: list[types.Content]
    usage: types.GenerateContentResponseUsageMetadata | None = None
    _requests: list[LlmRequest] = PrivateAttr(default_factory=list)

    @property
    def requests(self) -> list[LlmRequest]:
        """The requests, in order."""
        return self._requests

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        """Says the next answer."""
        contents = [each.model_copy(deep=True) for each in llm_request.contents]
        self._requests.append(llm_request.model_copy(update={"contents": contents}))
        yield LlmResponse(content=self.answers[len(self._requests) - 1], usage_metadata=self.usage)


def scripted(*answers: types.Content | str) -> Scripted:
    """The model of these answers."""
    said_by = [content(types.Part(text=each)) if isinstance(each, str) else each for each in answers]
    return Scripted(answers=said_by)


def agent(model: BaseLlm, *tools: Callable[..., Any], **fields: Any) -> LlmAgent:
    """An agent with this model and these tools."""
    return LlmAgent(name="helper", model=model, tools=list(tools), **fields)


async def run(runner: Runner, session_id: str, text: str | types.Content, **options: Any) -> list[Event]:
    """The events of one run."""
    message = types.Content(role="user", parts=[types.Part(text=text)]) if isinstance(text, str) else text
    found = runner.run_async(user_id=USER, session_id=session_id, new_message=message, **options)
    return [event async for event in found]
