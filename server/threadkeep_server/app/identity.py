"""Who may call: makes the authenticator from the settings."""

from __future__ import annotations

from collections.abc import Mapping

from ..config.settings import Principal, Settings
from ..domain.model import Caller
from ..domain.roles import granted
from ..transport.auth import Authenticator, Refused, TokenSource
from ..transport.failed_logins import FailedLogins
from ..transport.identity.issued_tokens import IssuedTokens
from ..transport.tls_files import TlsFiles


def authenticator(settings: Settings, logins: FailedLogins, refused: Refused | None) -> Authenticator:
    """Returns the authenticator. `refused`: for the audit log. Raises OSError, and InvalidTokenHashes for a file of hashes."""
    tokens = _callers(settings.auth_tokens)
    sources: list[TokenSource] = []
    if settings.token_hashes_file is not None:
        sources.append(IssuedTokens(settings.token_hashes_file))
    if settings.jwt_issuer:
        sources.append(_jwt_tokens(settings))
    certificates = _callers(settings.tls_client_identities)
    return Authenticator(tokens, sources, certificates, logins=logins, refused=refused)


def _callers(principals: Mapping[str, Principal]) -> dict[str, Caller]:
    return {name: Caller(who.tenant, who.user_id, granted(who.roles), who.app) for name, who in principals.items()}


def tls_files(settings: Settings) -> TlsFiles | None:
    """Returns the files of TLS, None without it. Raises OSError."""
    if settings.tls_certificate is None or settings.tls_private_key is None:
        return None
    return TlsFiles(settings.tls_certificate, settings.tls_private_key, settings.tls_client_ca)


def _jwt_tokens(settings: Settings) -> TokenSource:
    try:
        from ..transport.identity.jwt_tokens import Issuer, JwtTokens
        from ..transport.identity.signing_keys import SigningKeys
    except ImportError:
        raise OSError("jwt_issuer needs libraries that are not installed: pip install 'threadkeep[oidc]'") from None
    issuer = Issuer(
        issuer=settings.jwt_issuer,
        audience=settings.jwt_audience,
        algorithms=tuple(settings.jwt_algorithms.split(",")),
        leeway=settings.jwt_leeway.total_seconds(),
        tenant=settings.jwt_tenant,
        tenant_claim=settings.jwt_tenant_claim,
        user_claim=settings.jwt_user_claim,
        app_claim=settings.jwt_app_claim,
        roles_claim=settings.jwt_roles_claim,
        roles_prefix=settings.jwt_roles_prefix,
    )
    return JwtTokens(issuer, SigningKeys(settings.jwt_issuer, settings.jwt_keys_url))
