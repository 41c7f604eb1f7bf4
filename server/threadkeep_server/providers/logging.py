"""What the vendors' libraries may not write to the log."""

from __future__ import annotations

import logging

# They write addresses at INFO, and keys and conversations at DEBUG.
_VENDOR_LOGGERS = ("openai", "anthropic", "google_genai", "httpx2", "httpcore2")


def quiet_vendor_loggers() -> None:
    """Warnings and worse only. To be called once a library has been imported, for some set a level as they are."""
    for name in _VENDOR_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
