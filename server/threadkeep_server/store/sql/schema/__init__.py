"""The schema: tables, versions and migrations."""
