"""Removals of events, and operation ids, in SQL."""
