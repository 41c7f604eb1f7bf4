"""Retention: which sessions a policy takes out of the database, and the receipts of that."""
