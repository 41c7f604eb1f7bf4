"""Composition of webhooks that compact."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from ..config.settings import ConfigError, Settings
from ..config.types import is_loopback
from ..config.webhooks import read_webhooks
from ..domain.validation import Limits
from ..providers.logging import quiet_vendor_loggers
from ..providers.measured import MeasuredWebhooks, Meter
from ..providers.webhooks.options import WebhookEndpoint, WebhookOptions
from ..providers.webhooks.signature import secret_of
from ..service.compaction.plan_laws import PlanLaws
from ..service.compaction.webhooks import WebhookPlanner, WebhookStats
from ..store.contract.codec import Codec
from ..telemetry.meters import Meters
from ..transport.convert.events import DraftMaker
from ..transport.convert.webhooks import WebhookEncoder

_log = logging.getLogger(__name__)


@asynccontextmanager
async def open_webhooks(
    settings: Settings, limits: Limits, make_draft: DraftMaker, codec: Codec, stats: WebhookStats, meters: Meters
) -> AsyncIterator[WebhookPlanner | None]:
    """Opens the configured webhooks; None without a file. Raises ConfigError."""
    if settings.compaction_webhooks_file is None:
        yield None
        return
    endpoints = await asyncio.to_thread(_endpoints, settings.compaction_webhooks_file)
    try:
        from ..providers.webhooks.client import WebhookClient  # its HTTP library is optional
    except ModuleNotFoundError as exc:
        problem = f"webhooks need the package {exc.name!r}; install 'threadkeep[webhook]'"
        raise ConfigError([f"compaction_webhooks_file: {problem}"]) from exc
    options = WebhookOptions(
        timeout=settings.compaction_webhook_timeout.total_seconds(),
        deadline=settings.compaction_webhook_deadline.total_seconds(),
        max_attempts=settings.compaction_webhook_attempts,
    )
    quiet_vendor_loggers()
    client = WebhookClient(endpoints, options)
    encoder = WebhookEncoder(limits, make_draft, settings.compaction_webhook_request_bytes)
    try:
        measured = MeasuredWebhooks(client, Meter(meters.provider_duration, "webhook"))
        yield WebhookPlanner(measured, encoder, PlanLaws(codec), stats)
    finally:
        await client.aclose()


def _endpoints(path: Path) -> Mapping[str, WebhookEndpoint]:
    endpoints = {}
    for name, entry in read_webhooks(path).items():
        try:
            secret = secret_of(entry.secret)
        except ValueError as error:
            raise ConfigError([f"compaction_webhooks_file: {name}.secret: {error}"]) from None
        try:
            endpoints[name] = WebhookEndpoint(url=entry.url, secret=secret, tenants=frozenset(entry.tenants))
        except ValueError as error:
            raise ConfigError([f"compaction_webhooks_file: {name}.url: {error}"]) from None
        parts = urlsplit(entry.url)
        if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
            _log.warning("the webhook %r has no TLS: conversations cross the network in plain text", name)
    return endpoints
