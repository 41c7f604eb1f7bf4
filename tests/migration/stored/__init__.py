"""Databases of every schema since the first: what they hold, and how their rows are kept as text."""
