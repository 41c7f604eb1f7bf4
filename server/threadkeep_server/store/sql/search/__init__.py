"""Search in SQL: indexes of terms and substrings, and the indexer."""
