"""The Python SDK without a Recollect server."""
