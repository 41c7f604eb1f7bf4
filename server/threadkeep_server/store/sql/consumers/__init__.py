"""Named consumers in SQL."""
