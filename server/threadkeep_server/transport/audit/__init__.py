"""The audit log: who did what to which session or memory, when, from where, with what outcome."""
