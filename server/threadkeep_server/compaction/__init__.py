"""Triggers and strategies of compaction. Pure functions over the domain: no I/O, clock or model."""
