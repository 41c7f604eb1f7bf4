"""Tool search during a conversation."""
