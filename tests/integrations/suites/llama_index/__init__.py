"""The adapter of LlamaIndex, with its own memory, agents and objects."""
