# Generated from _async by `make sync-client`. Do not edit.
"""Tool calling, and tools over MCP and the server's search."""
