# Generated from _async by `make sync-client`. Do not edit.
"""Model adapters."""
