"""Search and memory as tools for a model."""
