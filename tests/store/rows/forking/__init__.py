"""Rows of forks."""
