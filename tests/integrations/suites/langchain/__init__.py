"""The tests of `threadkeep.integrations.langchain`."""
