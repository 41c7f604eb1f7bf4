"""The settings of identity: issued tokens, tokens of an OIDC issuer, client certificates, and what is for operators; part of
`settings.Settings`."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from .access import AccessSettings
from .files import ConfigError, ca_problem, home
from .types import Duration, Principal, listed

# Of keys that an issuer publishes. Never `none`, and no HS*: its key would be the published one.
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
# What the policy of the web console names: no other directive fits in it, and no password.
_PLAIN_HOST = re.compile(r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]+)?")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def _algorithms(value: str) -> str:
    names = [name.strip() for name in value.split(",") if name.strip()]
    if not names or not set(names) <= set(_ALGORITHMS):
        raise ValueError(f"must be some of {', '.join(_ALGORITHMS)}, separated by commas")
    return ",".join(dict.fromkeys(names))


def _secure_url(value: str) -> str:
    value = value.strip()
    try:
        parts = urlsplit(value)
        usable = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    except ValueError:
        usable = False
    if value and not (usable and parts.hostname):
        raise ValueError("must be a URL that begins with https://; http:// is for this machine only")
    return value


_Url = Annotated[str, AfterValidator(_secure_url)]


class IdentitySettings(AccessSettings):
    """Part of `settings.Settings`."""

    token_hashes_file: Path | None = Field(
        default=None,
        description="File of issued tokens, as hashes, which `threadkeep tokens` writes. A running server follows its changes "
        "within a second. The file must exist.",
    )
    max_failed_logins: int = Field(
        default=100,
        ge=0,
        description="Most failed logins from an address within a minute. Further calls from it are RATE_LIMITED until the "
        "minute is over, except with credentials that were accepted before. IPv6: from a /64 network. 0: unlimited.",
    )
    metrics_need_role: bool = Field(
        default=False, description="With authentication, `/metrics` needs a token with the role `ops`. Off: it needs none."
    )
    jwt_issuer: _Url = Field(
        default="",
        description="OIDC issuer whose tokens (JWT) are accepted, exactly as in their claim `iss`. Requires the extra `oidc` "
        "and `jwt_audience`. Empty: none.",
    )
    jwt_audience: str = Field(default="", description="What the claim `aud` of a token must contain.")
    jwt_keys_url: _Url = Field(
        default="", description="URL of the issuer's keys (JWKS). Empty: what its `/.well-known/openid-configuration` names."
    )
    jwt_algorithms: Annotated[str, BeforeValidator(listed), AfterValidator(_algorithms)] = Field(
        default="RS256,ES256", description="Accepted signature algorithms, separated by commas."
    )
    jwt_leeway: Duration = Field(
        default=timedelta(seconds=30),
        le=timedelta(minutes=10),
        description="By how much the clocks of issuer and server may differ.",
    )
    jwt_tenant: str = Field(default="", max_length=256, description="Tenant of all tokens of the issuer. Empty: their claim.")
    jwt_tenant_claim: str = Field(
        default="tenant",
        description="Claim with the tenant. The claim of a claim is written with a dot, as in `resource.tenant`. A token "
        "without it is refused.",
    )
    jwt_user_claim: str = Field(
        default="sub",
        description="Claim with the only user that the caller may act for. A token without it is refused. Empty: callers act "
        "for all users of their tenant.",
    )
    jwt_app_claim: str = Field(
        default="",
        description="Claim with the only app that the caller may act in. A token without it is refused. Empty: callers act in "
        "all apps of their tenant.",
    )
    jwt_roles_claim: str = Field(
        default="roles",
        description="Claim with the roles, as a list or separated by blanks. Other names in it are ignored; a token without a "
        "role may make no call that needs one.",
    )
    jwt_roles_prefix: str = Field(
        default="threadkeep:", description="What the roles begin with in the claim, as in `threadkeep:writer`. It may be empty."
    )
    console_oidc_client_id: str = Field(
        default="",
        max_length=256,
        description="Client id of the web console at `jwt_issuer`: its users sign in there (authorization code with PKCE). It "
        "is a public client whose redirect address is that of the console with `sign-in` at its end. Empty: users give a "
        "token.",
    )
    console_oidc_scopes: str = Field(
        default="openid", max_length=1000, description="Scopes that the web console requests, separated by blanks."
    )

    tls_client_ca: Path | None = Field(
        default=None,
        description="PEM file with the CA of clients' certificates (mTLS). Over gRPC's own port every client must have one, "
        "also with a token; over HTTP and behind Envoy clients may have one. Requires `tls_certificate`. Absent: no client "
        "certificates.",
    )
    tls_client_identities: dict[str, Principal] = Field(
        default_factory=dict,
        description="Callers by certificate: a table of `name = {tenant, user_id, app, roles}` (JSON in the environment). The "
        "name is a URI or DNS name of the certificate, or its common name if it has none. Requires `tls_client_ca`.",
    )
    reflection: bool = Field(
        default=True,
        description="Offer gRPC server reflection, for `grpcurl` and `buf curl`; with authentication to the role `ops`.",
    )
    channelz: bool = Field(
        default=True,
        description="Offer gRPC channelz, which shows connections and their counters; with authentication to the role `ops`.",
    )

    @field_validator("token_hashes_file", "tls_client_ca")
    @classmethod
    def _home_of_files(cls, value: Path | None) -> Path | None:
        return value if value is None else home(value)

    @model_validator(mode="after")
    def _identity(self) -> Self:
        problems: list[str] = []
        if self.jwt_issuer and not self.jwt_audience:
            problems.append("jwt_audience: must be set with jwt_issuer: otherwise tokens for other services would be accepted")
        if self.jwt_issuer and not (self.jwt_tenant or self.jwt_tenant_claim):
            problems.append("jwt_tenant: must be set, or jwt_tenant_claim, with jwt_issuer")
        if self.console_oidc_client_id and not self.jwt_issuer:
            problems.append("console_oidc_client_id: needs jwt_issuer, whose tokens the server accepts")
        if self.console_oidc_client_id and self.jwt_issuer and not _PLAIN_HOST.fullmatch(urlsplit(self.jwt_issuer).netloc):
            problems.append(
                "jwt_issuer: must have only a host and a port, without a user, with console_oidc_client_id: browsers get it"
            )
        if self.tls_client_identities and self.tls_client_ca is None:
            problems.append("tls_client_ca: must be set with tls_client_identities: the CA of these certificates")
        if self.tls_client_ca is not None and self.tls_certificate is None:
            problems.append("tls_client_ca: needs tls_certificate; without TLS, clients show no certificates")
        if self.tls_client_ca is not None and (problem := ca_problem(self.tls_client_ca)):
            problems.append(f"tls_client_ca: {problem}")
        if problems:
            raise ConfigError(problems)
        return self

    @property
    def authenticated(self) -> bool:
        """Whether callers need a credential."""
        return super().authenticated or bool(self.token_hashes_file or self.jwt_issuer or self.tls_client_identities)
