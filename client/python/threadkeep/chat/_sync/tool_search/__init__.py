# Generated from _async by `make sync-client`. Do not edit.
"""Tool search during a conversation."""
