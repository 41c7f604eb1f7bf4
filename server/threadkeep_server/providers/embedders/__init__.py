"""Embedders: texts into vectors, by an endpoint or here."""
