"""The tests of `threadkeep.integrations.claude_agent`."""
