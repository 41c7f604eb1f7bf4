"""How to compact: one strategy a file, each with its options, and `plan(window, count)`."""
