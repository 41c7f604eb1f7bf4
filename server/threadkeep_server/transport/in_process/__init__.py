"""Calls of the server's own services by the Python SDK, without a port."""
