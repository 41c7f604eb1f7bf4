"""Validation of an endpoint's address and key."""

from __future__ import annotations

from urllib.parse import urlsplit


def check_endpoint(whose: str, base_url: str, api_key: str) -> None:
    """Raises ValueError; its message contains neither address nor key. `whose` is the component, such as "the summarizer"."""
    if base_url and not _is_usable(base_url):
        raise ValueError(f"{whose}'s base URL must look like https://host/v1")
    if not (api_key.isascii() and api_key.isprintable()):
        raise ValueError(f"{whose}'s API key contains characters that are invalid in an HTTP header; check it for a line break")


def _is_usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port or unbalanced brackets
        return False
