"""Dates that texts mention, as terms of the index."""
