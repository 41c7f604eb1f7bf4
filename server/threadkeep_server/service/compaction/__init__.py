"""Use cases of compaction: requests, policies and background runs."""
