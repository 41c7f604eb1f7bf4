"""`make bench-compare`: what changed between two runs of `make bench`."""
