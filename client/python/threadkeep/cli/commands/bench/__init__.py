"""`threadkeep bench`: load on a running server, and whether subscribers received what was acknowledged."""
