"""Schema migrations (Alembic). A revision never changes once released; `schema.py` is what they add up to."""
