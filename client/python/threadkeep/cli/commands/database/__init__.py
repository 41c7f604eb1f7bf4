"""Commands of the database: backup, restore and verify."""
