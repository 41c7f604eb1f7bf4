"""Use cases of long-term memory."""
