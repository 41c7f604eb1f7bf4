"""Asks a model for summaries: one contract, the vendors behind it, and what keeps them in bounds."""
