"""The previous version, whose servers and clients run next to the present ones."""
