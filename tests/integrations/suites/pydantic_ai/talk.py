"""Conversations of texts: "u..." is said by the user, everything else by the model."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai import Conversation
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart


def message(text: str) -> ModelMessage:
    """A message of one text."""
    if text.startswith("u"):
        return ModelRequest(parts=[UserPromptPart(text)])
    return ModelResponse(parts=[TextPart(text)])


def conversation(conversation_id: str, *texts: str) -> Conversation:
    """A conversation that no store has."""
    return Conversation(messages=[message(text) for text in texts], conversation_id=conversation_id)


def say(conversation: Conversation, *texts: str) -> Conversation:
    """The conversation, continued."""
    conversation.messages.extend(message(text) for text in texts)
    return conversation


def texts(messages: Sequence[ModelMessage]) -> list[str]:
    """The texts of messages."""
    return [str(part.content) for each in messages for part in each.parts if isinstance(part, TextPart | UserPromptPart)]
