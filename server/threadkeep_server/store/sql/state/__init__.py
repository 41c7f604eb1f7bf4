"""State in SQL."""
