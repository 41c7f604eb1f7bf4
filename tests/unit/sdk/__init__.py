"""The Python SDK without a Threadkeep server."""
