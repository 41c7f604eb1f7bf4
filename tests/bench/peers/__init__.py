"""`make bench-peers`: compares Threadkeep with other session stores, each in its own environment."""
