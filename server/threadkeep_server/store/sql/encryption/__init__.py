"""Encryption of what conversations and memories say, with a key per tenant."""
