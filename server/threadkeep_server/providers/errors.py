"""How one request to a model fails, whatever the vendor."""

from __future__ import annotations


class ProviderError(Exception):
    """One attempt failed. `free`: it cost no tokens. `retry_after`: how many seconds the endpoint wants to be left alone."""

    def __init__(self, problem: str, *, retry: bool = False, free: bool = False, retry_after: float = 0.0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.retry = retry
        self.free = free
        self.retry_after = retry_after
