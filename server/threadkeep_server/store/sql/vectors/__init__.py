"""Embeddings in SQL, and pgvector."""
