"""The tests of `threadkeep.integrations.langgraph`."""
