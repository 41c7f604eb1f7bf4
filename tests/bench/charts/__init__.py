"""`make bench-charts`: keeps the results of a version, and draws its charts and their page."""
