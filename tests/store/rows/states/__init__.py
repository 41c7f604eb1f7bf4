"""Rows about state."""
