"""Reads of one session that combine several parts of it, or sum up its log."""
