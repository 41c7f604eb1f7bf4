"""Removals of events."""
