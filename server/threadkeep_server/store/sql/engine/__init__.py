"""Engines: run units of work on SQLite and PostgreSQL."""
