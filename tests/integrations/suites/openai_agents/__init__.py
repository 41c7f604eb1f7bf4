"""The tests of `threadkeep.integrations.openai_agents`."""
