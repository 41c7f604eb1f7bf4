"""Opens the web console."""

from __future__ import annotations

from ..config.settings import Settings
from ..transport.http.console import Console, SignIn, open_console


def console_of(settings: Settings) -> Console | None:
    """Returns the console of the settings; None if it is off."""
    if not settings.console:
        return None
    issuer, client_id, scopes = settings.jwt_issuer, settings.console_oidc_client_id, settings.console_oidc_scopes
    return open_console(SignIn(issuer, client_id, settings.jwt_audience, scopes) if client_id else None)
