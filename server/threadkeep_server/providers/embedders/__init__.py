"""Embedders: remote endpoints, and local hashing."""
