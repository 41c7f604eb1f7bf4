"""Schema migrations (Alembic). A released revision never changes; together they create the tables of `schema.tables`."""
