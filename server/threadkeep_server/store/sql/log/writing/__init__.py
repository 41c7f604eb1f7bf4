"""What several writers of the log share, and the statements of appends."""
