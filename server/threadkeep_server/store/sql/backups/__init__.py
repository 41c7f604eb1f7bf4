"""Backups: copies of a running database, and how they are restored."""
