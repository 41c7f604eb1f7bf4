"""Tool search: finds the tools that a request needs among many."""
