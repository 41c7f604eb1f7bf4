"""Items of OpenAI's Responses API: to events, and from events."""

from __future__ import annotations

from .items import COMPACTION, NATIVE, PROVIDER, event_of, items_of

__all__ = ["COMPACTION", "NATIVE", "PROVIDER", "event_of", "items_of"]
