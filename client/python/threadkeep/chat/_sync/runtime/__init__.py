# Generated from _async by `make sync-client`. Do not edit.
"""The chat client, its prompts and its chain of advisors."""
