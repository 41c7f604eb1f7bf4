"""What updates make of sessions and of JSON text."""
