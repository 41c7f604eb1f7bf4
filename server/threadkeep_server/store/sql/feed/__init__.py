"""The feed in SQL."""
