"""The failure of one request to a provider."""

from __future__ import annotations


class ProviderError(Exception):
    """One attempt failed. `free`: it cost no tokens. `retry_after`: seconds before the next attempt, as the endpoint
    requested."""

    def __init__(self, problem: str, *, retry: bool = False, free: bool = False, retry_after: float = 0.0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.retry = retry
        self.free = free
        self.retry_after = retry_after
