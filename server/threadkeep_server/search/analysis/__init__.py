"""Text analysis: the terms of a text."""
