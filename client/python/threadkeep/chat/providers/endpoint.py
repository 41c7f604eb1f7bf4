"""Checks of endpoint addresses and keys. No error contains a key."""

from __future__ import annotations

from urllib.parse import urlsplit

_SHORTEST = 8
"""Shorter keys are placeholders ("none", "EMPTY") and would match ordinary words."""


def checked_address(base_url: str | None) -> str | None:
    """Returns the address, or None for the vendor's. Raises ValueError if no request can be sent to it."""
    try:
        parts = urlsplit(base_url or "")
        reachable = base_url is None or (parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0)
    except (TypeError, ValueError, AttributeError):
        reachable = False
    if not reachable:
        raise ValueError(f"base_url: must begin with http:// or https:// and a host, not {base_url!r}")
    return base_url


def key_for(api_key: str | None, base_url: str | None) -> str | None:
    """Returns the key for a vendor's library. None means the key of the environment, which is never sent to another address."""
    return "none" if api_key is None and base_url is not None else api_key


def checked_key(key: str) -> str:
    """Returns the key. Raises ValueError, without the key, if an HTTP header cannot contain it."""
    if not isinstance(key, str):
        raise TypeError(f"api_key: text, not {type(key).__name__}")
    if not all("!" <= character <= "~" for character in key):
        raise ValueError("api_key: it contains white space or invalid characters; check for a line break at its end")
    return key


def without_key(words: str, key: str) -> str:
    """Returns the text with the key replaced by stars."""
    return words.replace(key, "***") if len(key) >= _SHORTEST else words
