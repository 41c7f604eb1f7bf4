"""Limits that live subscriptions and consumers share."""

MOST_FRAME_BYTES = 1 << 20
"""The size at which a message ends, unless a single event is larger. By default clients reject messages above 4 MiB."""

CHANGES_PER_READ = 512
"""Changes that one read of the feed returns."""
