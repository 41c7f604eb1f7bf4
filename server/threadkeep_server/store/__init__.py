"""Stores: the `contract`, its reference `inmemory`, and `sql` on SQLite and PostgreSQL."""
