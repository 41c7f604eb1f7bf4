"""Rerankers: endpoints of the form of Cohere and Jina, and local cross-encoders."""
