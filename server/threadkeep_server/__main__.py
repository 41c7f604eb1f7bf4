"""Entry point. `python -m threadkeep_server` reads its settings from environment and file, and serves until SIGTERM."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys

import uvloop

from .app.failures import EXPECTED, EnvoyFailed, log_failure
from .app.fronts import serve
from .app.open_files import raise_open_files
from .app.tuning import tune_interpreter
from .config.settings import ConfigError, Settings, foreign_variables, load_settings
from .logs import setup_logging

_log = logging.getLogger("threadkeep")


def run(settings: Settings) -> int:
    """Serves until SIGTERM or SIGINT. Returns the exit status, 2 for invalid settings. Logs one line if it cannot serve."""
    setup_logging(settings.log_level, settings.log_format)
    for line in (*foreign_variables(), *settings.cautions):
        _log.warning("%s", line)
    raise_open_files()
    try:
        return uvloop.run(_serve(settings))
    except EnvoyFailed as exc:  # it is logged
        return exc.status
    except EXPECTED as exc:
        return log_failure(settings, exc)


async def _serve(settings: Settings) -> int:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    # Without a terminal, whose end it announces, others send it when files have changed.
    with_terminal = sys.stdin is not None and sys.stdin.isatty()
    loop.add_signal_handler(signal.SIGHUP, stop.set if with_terminal else _say_that_files_are_followed)
    async with serve(settings) as running:
        host = settings.grpc_address.rpartition(":")[0]
        ports = {"HTTP": (settings.http_address, running.http_port), "admin": (settings.admin_address, running.admin_port)}
        others = [f", {name} on {at.rpartition(':')[0]}:{port}" for name, (at, port) in ports.items() if port is not None]
        _log.info(
            "serving gRPC on %s:%d%s; %s, %s, store %s",
            host,
            running.grpc_port,
            "".join(others),
            running.store.engine,
            running.store.durability,
            running.store.store_id,
        )
        if settings.console and running.http_port is not None:
            _log.info("the web console: %s", console_url(settings, running.http_port))
        ended = running.ended
        if ended is None:
            tune_interpreter()
        else:
            ended.add_done_callback(lambda _: stop.set())
        await stop.wait()
        if ended is not None and ended.done():
            _log.error("Envoy ended by itself")
            return 1
        _log.info("draining: calls in flight have %g s to finish", settings.drain_grace.total_seconds())
    _log.info("stopped")
    return 0


def console_url(settings: Settings, port: int) -> str:
    """Returns the address of the console for a browser on this machine."""
    host = settings.http_address.rpartition(":")[0]
    host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)
    return f"{'http' if settings.tls_certificate is None else 'https'}://{host}:{port}/console/"


def _say_that_files_are_followed() -> None:
    _log.info("SIGHUP: changes of issued tokens and certificates are followed without it; for other settings, restart")


def main() -> int:
    try:
        return run(load_settings())
    except ConfigError as exc:
        print(exc, file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # before the server handles signals
        return 130


if __name__ == "__main__":
    sys.exit(main())
