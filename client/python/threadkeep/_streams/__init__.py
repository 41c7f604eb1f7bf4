"""Streams of the server: reading them, opening them again, and working for a consumer."""
