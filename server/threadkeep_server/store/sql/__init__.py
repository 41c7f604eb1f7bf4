"""The one SQL implementation of the store, on SQLite and PostgreSQL."""
