"""Tool calling, and tools over MCP and the server's search."""
