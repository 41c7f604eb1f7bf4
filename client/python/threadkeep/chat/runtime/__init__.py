"""Requests under construction: arguments, the builder and threads."""
