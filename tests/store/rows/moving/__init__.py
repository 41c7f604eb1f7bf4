"""Rows about changes of owners."""
