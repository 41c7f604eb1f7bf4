"""What several writers of the log share."""
