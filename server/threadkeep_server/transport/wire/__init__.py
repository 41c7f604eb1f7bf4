"""Messages encoded by hand from stored bytes."""
