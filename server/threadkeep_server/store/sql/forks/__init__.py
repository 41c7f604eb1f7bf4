"""Forks of sessions in SQL."""
