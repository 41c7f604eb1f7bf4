"""The adapter of Google's ADK, with the real package."""
