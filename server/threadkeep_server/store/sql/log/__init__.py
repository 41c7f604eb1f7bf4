"""The event log in SQL: sessions, appends and reads."""
