"""`make bench`: Recollect against raw baselines of the same run."""
