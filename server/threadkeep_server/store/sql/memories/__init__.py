"""Long-term memory in SQL."""
