"""An MCP server over one user's conversations and memories; `threadkeep mcp` runs it. Needs the extra `mcp`."""

from .http import serve_http
from .server import Binding, RecallServer, serve_stdio

__all__ = ["Binding", "RecallServer", "serve_http", "serve_stdio"]
