"""Parts of long-term memory: names, writes and comparisons; `domain.memories` has the entries."""
