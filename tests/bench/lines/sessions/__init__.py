"""Lines about whole sessions."""
