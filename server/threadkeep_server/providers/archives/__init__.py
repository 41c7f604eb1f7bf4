"""Where archives of sessions are kept, and their formats."""
