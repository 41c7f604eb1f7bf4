"""The adapter of Microsoft's Agent Framework, with its own runner and objects."""
