"""`make bench-peers`: Threadkeep beside other session stores, each in an environment of its own."""
