"""Erasures in SQL."""
