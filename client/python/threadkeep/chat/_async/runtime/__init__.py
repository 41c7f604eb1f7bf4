"""The chat client, its prompts and its chain of advisors."""
