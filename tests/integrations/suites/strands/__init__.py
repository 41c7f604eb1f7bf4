"""The adapter of Strands Agents, with the real package."""
