# Generated from _async by `make sync-client`. Do not edit.
"""The memory of a chat client."""
