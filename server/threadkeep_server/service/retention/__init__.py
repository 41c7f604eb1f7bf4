"""Retention: old sessions are archived and deleted by policies, and restored on demand."""
