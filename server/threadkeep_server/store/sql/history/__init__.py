"""Reads as of a moment in SQL."""
