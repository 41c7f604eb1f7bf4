"""The strategies, one per module, each with its options and `plan(window, count)`."""
