"""Ranking: scores candidates and fuses rankings."""
