"""What an endpoint's address and key must look like."""

from __future__ import annotations

from urllib.parse import urlsplit


def check_endpoint(whose: str, base_url: str, api_key: str) -> None:
    """Raises ValueError, which holds neither address nor key. `whose` names what asks there: "the summarizer"."""
    if base_url and not _is_usable(base_url):
        raise ValueError(f"{whose}'s base URL must look like https://host/v1")
    if not (api_key.isascii() and api_key.isprintable()):
        raise ValueError(f"{whose}'s API key holds characters that no HTTP header can; is there a line break in it?")


def _is_usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, brackets that do not close
        return False
