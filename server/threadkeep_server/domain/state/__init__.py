"""State of sessions, users and apps."""
