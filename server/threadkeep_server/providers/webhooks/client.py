"""The HTTP client of webhooks: signs, retries, follows no redirects, and bounds time and answers."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping

from ..errors import ProviderError
from ..http import ModelClient
from ..retry import RetryPolicy
from .options import WebhookEndpoint, WebhookOptions
from .signature import signed


class WebhookClient:
    """Posts to the endpoints by their names. Other addresses cannot be reached through it."""

    def __init__(
        self,
        endpoints: Mapping[str, WebhookEndpoint],
        options: WebhookOptions,
        *,
        wall_clock: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._endpoints = endpoints
        self._wall_clock = wall_clock
        self._clients = {
            name: ModelClient(endpoint.url, max_answer_bytes=options.max_answer_bytes) for name, endpoint in endpoints.items()
        }
        self._retry = RetryPolicy.of(options, clock, jitter)

    def allows(self, webhook: str, tenant: str | None) -> bool:
        """Whether there is such a webhook and the tenant may use it; None: some tenant."""
        endpoint = self._endpoints.get(webhook)
        return endpoint is not None and (tenant is None or not endpoint.tenants or tenant in endpoint.tenants)

    async def post(self, webhook: str, request_id: str, body: bytes) -> bytes:
        """Returns the body of a successful answer. Raises ProviderError; cancellation ends the request at once."""
        return await self._retry.run(f"the webhook {webhook!r}", lambda: self._attempt(webhook, request_id, body))

    async def _attempt(self, webhook: str, request_id: str, body: bytes) -> bytes:
        endpoint = self._endpoints[webhook]
        # Each attempt has its own time, so that a retry is not taken for an old request that somebody sends again.
        headers = signed(endpoint.secret, request_id, math.floor(self._wall_clock()), body)
        headers |= {"content-type": "application/json", "user-agent": "threadkeep"}
        try:
            answer = await self._clients[webhook].post(endpoint.url, content=body, headers=headers)
        except ProviderError:
            raise
        except Exception as error:  # an address that the library cannot use; its message would contain it
            raise ProviderError(f"could not be called ({type(error).__name__})") from None
        return answer.content

    async def aclose(self) -> None:
        for client in self._clients.values():
            await client.aclose()
