"""Encryption at rest."""
