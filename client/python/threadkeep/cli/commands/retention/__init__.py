"""`threadkeep retention`: policies that archive and delete old sessions, their receipts, and restores."""
