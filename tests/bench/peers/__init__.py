"""`make bench-peers`: Recollect beside other session stores, each in an environment of its own."""
