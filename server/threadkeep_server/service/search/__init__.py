"""Use cases of search: literal, ranked and vector search, and embedding."""
