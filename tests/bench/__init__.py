"""`make bench`: Threadkeep against raw baselines of the same run."""
