"""Addresses of models' endpoints and the keys to them: refused where no request could use them, and keys are never told."""

from __future__ import annotations

from urllib.parse import urlsplit

_SHORTEST = 8
"""Shorter ones are no secrets but fill-ins ("none", "EMPTY"), and would be found in words that have nothing to do with them."""


def checked_address(base_url: str | None) -> str | None:
    """The address, or None for the vendor's own. Raises ValueError for one that no request can go to."""
    try:
        parts = urlsplit(base_url or "")
        reachable = base_url is None or (parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0)
    except (TypeError, ValueError, AttributeError):
        reachable = False
    if not reachable:
        raise ValueError(f"base_url: begins with http:// or https:// and a host, unlike {base_url!r}")
    return base_url


def key_for(api_key: str | None, base_url: str | None) -> str | None:
    """What a vendor's library is given, which takes None for the environment's: that is the vendor's own, and goes to no
    address that was given."""
    return "none" if api_key is None and base_url is not None else api_key


def checked_key(key: str) -> str:
    """The key. Raises ValueError, which does not show it, for one that no header of HTTP can hold."""
    if not isinstance(key, str):
        raise TypeError(f"api_key: text, not {type(key).__name__}")
    if not all("!" <= character <= "~" for character in key):
        raise ValueError("api_key: it holds white space, or characters that no key has; is there a line break at its end?")
    return key


def without_key(words: str, key: str) -> str:
    """The words with stars in place of the key."""
    return words.replace(key, "***") if len(key) >= _SHORTEST else words
