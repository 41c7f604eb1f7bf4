"""The gRPC channel of a client: credentials, options, and the retry policy, which the protos specify."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

import grpc
from google.protobuf.descriptor_pb2 import MethodOptions

from ._address import Endpoint
from ._convert import check
from .v1 import (
    compaction_service_pb2,
    consumer_service_pb2,
    event_service_pb2,
    memory_service_pb2,
    search_service_pb2,
    server_service_pb2,
    session_service_pb2,
    state_service_pb2,
    subscription_service_pb2,
    tool_service_pb2,
)

Metadata = tuple[tuple[str, str], ...]
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
RETRYABLE = (MethodOptions.NO_SIDE_EFFECTS, MethodOptions.IDEMPOTENT)
MOST_ATTEMPTS = 5
"""gRPC makes no more than this."""
RETRY_POLICY = {
    "initialBackoff": "0.1s",
    "maxBackoff": "2s",
    "backoffMultiplier": 2,
    # gRPC never repeats a call that the caller canceled.
    "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"],
}


def token_from_environment() -> str:
    """The token of THREADKEEP_TOKEN; "" is none."""
    return os.environ.get("THREADKEEP_TOKEN", "")


def bearer(token: str) -> Metadata:
    """The token as call metadata; "" is none."""
    return (("authorization", f"Bearer {check(token, str, 'token')}"),) if token != "" else ()


def credentials(tls: bool | grpc.ChannelCredentials | None, endpoint: Endpoint) -> grpc.ChannelCredentials | None:
    """Credentials for the channel; None is plaintext. `tls` None: as in the address."""
    if tls is False and endpoint.tls:
        raise ValueError(
            f"https:// in the address requires TLS, and tls=False excludes it; give the address as {endpoint.target!r}"
        )
    if tls is None or isinstance(tls, bool):
        return grpc.ssl_channel_credentials() if tls or endpoint.tls else None
    return tls


def check_plaintext_token(endpoint: Endpoint, allowed: bool | None) -> None:
    """Raises ValueError for a token that would leave this machine without TLS. `allowed` None: as in the environment."""
    if allowed is None:
        allowed = os.environ.get("THREADKEEP_ALLOW_PLAINTEXT_TOKEN", "").lower() in ("1", "true", "yes", "on")
    if not allowed and not endpoint.is_local:
        raise ValueError(
            f"a bearer token to {endpoint.target} without TLS can be read in transit; give the address as "
            f"https://{endpoint.target}, or allow it: allow_plaintext_token=True, THREADKEEP_ALLOW_PLAINTEXT_TOKEN=1"
        )


def retryable_methods() -> Iterator[dict[str, str]]:
    """The methods whose idempotency_level allows retries, without streams, which are resumed."""
    for module in (
        session_service_pb2,
        event_service_pb2,
        state_service_pb2,
        compaction_service_pb2,
        search_service_pb2,
        server_service_pb2,
        subscription_service_pb2,
        consumer_service_pb2,
        memory_service_pb2,
        tool_service_pb2,
    ):
        for service in module.DESCRIPTOR.services_by_name.values():
            for method in service.methods:
                if method.GetOptions().idempotency_level in RETRYABLE and not method.server_streaming:
                    yield {"service": service.full_name, "method": method.name}


def channel_options(extra: Sequence[tuple[str, Any]] = (), max_attempts: int = MOST_ATTEMPTS) -> list[tuple[str, Any]]:
    """Options of a channel; `extra` overrides them. `max_attempts`: of calls that are safe to repeat, 1 to 5; 1: no retries."""
    if not 1 <= check(max_attempts, int, "max_attempts") <= MOST_ATTEMPTS:
        raise ValueError(f"max_attempts must be 1 to {MOST_ATTEMPTS}, not {max_attempts}; 1 turns retries off")
    policy = {"retryPolicy": RETRY_POLICY | {"maxAttempts": max_attempts}} if max_attempts > 1 else {}
    config = {"methodConfig": [{"name": list(retryable_methods()), **policy}]}
    options: dict[str, Any] = {
        "grpc.enable_retries": int(max_attempts > 1),
        "grpc.service_config": json.dumps(config),
        # The default, 256 KiB, would silently exempt larger appends from the retry policy.
        "grpc.per_rpc_retry_buffer_size": MAX_MESSAGE_BYTES,
        # Channels of a process share a connection by default, and so a new client would wait while an old one backs off.
        "grpc.use_local_subchannel_pool": 1,
        # By default a channel waits from 1 s up to 2 minutes before it reconnects. The attempts of a call take longer than the
        # longest wait here, so a call to a server that has returned succeeds.
        "grpc.initial_reconnect_backoff_ms": 100,
        "grpc.max_reconnect_backoff_ms": 500,
        "grpc.keepalive_time_ms": 30_000,
        "grpc.keepalive_timeout_ms": 10_000,
        "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
        "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
    }
    return list((options | dict(extra)).items())
