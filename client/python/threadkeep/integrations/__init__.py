"""Adapters: the stores of agent frameworks, each in a module of its own, over a server of Threadkeep."""
