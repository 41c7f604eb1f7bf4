"""Formats of the model providers: prompts to requests, answers and stream events to responses. No module here does I/O."""
