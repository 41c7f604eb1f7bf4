"""The forms of settings: durations, sizes, addresses and database URLs. A ValueError describes the form."""

from __future__ import annotations

import ipaddress
import re
from datetime import timedelta
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

MASK = "********"
IN_MEMORY = "memory://"
_MIB = 1024 * 1024
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SIZES = {"": 1, "b": 1, "kib": 1024, "mib": _MIB, "gib": 1024 * _MIB, "kb": 1000, "mb": 1_000_000, "gb": 1_000_000_000}
_POSTGRES = frozenset({"postgres", "postgresql", "postgresql+asyncpg"})


def duration(value: object) -> object:
    """Parses seconds as a number, or units as in `60d` and `1h30m`. Leaves other forms to pydantic, which parses ISO 8601."""
    if isinstance(value, str):
        text = value.strip().lower()
        if re.fullmatch(r"\d+(\.\d+)?", text):
            return timedelta(seconds=float(text))
        if re.fullmatch(r"(\d+(\.\d+)?(ms|[smhdw]))+", text):
            parts = re.findall(r"(\d+(?:\.\d+)?)(ms|[smhdw])", text)
            return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in parts))
        if not text.startswith("p"):
            raise ValueError("must be seconds, a form such as 60d, 12h or 1h30m, or an ISO 8601 duration such as P60D")
    return value


def not_negative(value: timedelta) -> timedelta:
    if value < timedelta(0):
        raise ValueError("must not be negative")
    return value


def above_zero(value: timedelta) -> timedelta:
    if value <= timedelta(0):
        raise ValueError("must be more than 0")
    return value


def size(value: object) -> object:
    """Parses bytes as a number, or with a unit as in `16MiB`."""
    if isinstance(value, str):
        match = re.fullmatch(r"(\d+)\s*([a-z]*)", value.strip().lower())
        if match is None or match[2] not in _SIZES:
            raise ValueError("must be a number of bytes, or a size such as 16MiB")
        return int(match[1]) * _SIZES[match[2]]
    return value


def lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


def listed(value: object) -> object:
    """Converts a TOML list to the form of the environment."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else value


def split_address(address: str) -> tuple[str, int]:
    """Returns host and port of `host:port` or `[ipv6]:port`. Raises ValueError."""
    host, colon, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError("must put an IPv6 address in brackets, as in [::1]:7443")
    if not colon or not host or not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65_535:
        raise ValueError("must be host:port, as in 127.0.0.1:7443 or 0.0.0.0:7443; port 0 picks a free one")
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Reports whether only this machine reaches the host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def normalize_url(url: str) -> str:
    """Returns the URL in the form of the store: `sqlite:///path`, `postgresql+asyncpg://...` or `memory://`."""
    scheme, separator, rest = url.partition("://")
    scheme = scheme.lower()
    if separator and scheme == "memory":
        if rest:
            raise ValueError("must be memory:// without a name or a path")
        return IN_MEMORY
    if separator and scheme == "sqlite":
        if not rest.startswith("/") or rest in {"/", "/:memory:"}:
            raise ValueError("must name a file: sqlite:///relative/path.db or sqlite:////absolute/path.db")
        return f"sqlite://{rest}"
    if separator and scheme in _POSTGRES:
        # libpq's name for it; asyncpg's is ssl.
        return _of_sqlalchemy(re.sub(r"(?<=[?&])sslmode=", "ssl=", rest))
    raise ValueError("must begin with sqlite:/// or postgresql://, or be memory://")


def _of_sqlalchemy(rest: str) -> str:
    """Returns a PostgreSQL URL without its scheme as SQLAlchemy reads it: several hosts are parts of the query there."""
    try:
        parts = urlsplit(f"postgresql://{rest}")
        user, at, hosts = parts.netloc.rpartition("@")
        several = [urlsplit(f"//{host}") for host in hosts.split(",")]
        usable = all(host.port != 0 for host in several) and len(parts.path) > 1 and "@" not in parts.path
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("must be postgresql://user:password@host:port/database; escape special characters with %")
    if len(several) == 1:
        return f"postgresql+asyncpg://{rest}"
    if not all(re.fullmatch(r"[A-Za-z0-9.-]+", host.hostname or "") for host in several):
        raise ValueError("must name each of several hosts, by a name or an IPv4 address, as in host1:5432,host2:5432")
    query = [f"host={host.hostname}:{host.port or 5432}" for host in several]
    return f"postgresql+asyncpg://{user}{at}{parts.path}?{'&'.join([*query, *filter(None, [parts.query])])}"


def masked_url(url: str) -> str:
    """Returns the URL without its password."""
    netloc = urlsplit(url).netloc
    if "@" in netloc:
        user, colon, _ = netloc.rpartition("@")[0].partition(":")
        url = url.replace(netloc, f"{user}{colon and ':' + MASK}@{netloc.rpartition('@')[2]}", 1)
    return re.sub(r"(?i)(?<=[?&])([^=&]*password=)[^&]*", rf"\g<1>{MASK}", url)


def shown_duration(value: timedelta) -> str:
    """Returns the shortest form that `duration` parses: 60d, 1h30m, 500ms."""
    left = round(value.total_seconds() * 1000)
    text = ""
    for unit in ("d", "h", "m", "s", "ms"):
        count, left = divmod(left, round(_UNITS[unit] * 1000))
        text += f"{count}{unit}" if count else ""
    return text or "0s"


Duration = Annotated[timedelta, BeforeValidator(duration), AfterValidator(not_negative)]
Interval = Annotated[timedelta, BeforeValidator(duration), AfterValidator(above_zero)]
Bytes = Annotated[int, BeforeValidator(size), Field(ge=1024)]


class Principal(BaseModel):
    """The caller of a bearer token."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    tenant: str = Field(min_length=1, max_length=256, description="The tenant the caller belongs to.")
    user_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=256,
        description="The only user that the caller may act for; absent: any user of the tenant.",
    )
    app: str | None = Field(
        default=None,
        min_length=1,
        max_length=256,
        description="The only app that the caller may act in; absent: any app of the tenant.",
    )
    roles: tuple[Literal["reader", "writer", "compactor", "admin", "ops"], ...] = Field(
        default=("admin",), min_length=1, description="What the caller may do; absent: all reads and changes of data."
    )
