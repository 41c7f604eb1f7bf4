"""Search: analysis of texts and queries, and ranking. Pure: no I/O, no clock."""
