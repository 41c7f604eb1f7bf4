"""Changes of owners in SQL."""
