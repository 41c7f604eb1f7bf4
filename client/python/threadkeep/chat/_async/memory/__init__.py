"""The memory of a chat client."""
