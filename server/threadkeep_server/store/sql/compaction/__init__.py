"""Compactions and policies in SQL."""
