"""The adapter of pydantic-ai, with the real package."""
