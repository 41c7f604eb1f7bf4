"""Log levels of the vendors' libraries."""

from __future__ import annotations

import logging

# They log addresses at INFO, and keys and conversations at DEBUG.
_VENDOR_LOGGERS = ("openai", "anthropic", "google_genai", "httpx2", "httpcore2")


def quiet_vendor_loggers() -> None:
    """Limits the libraries to warnings. Call it after the import of a library, since some set a level when imported."""
    for name in _VENDOR_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
