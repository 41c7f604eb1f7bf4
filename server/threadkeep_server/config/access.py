"""The settings of the ports and of who may call; part of `settings.Settings`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic_settings import BaseSettings

from .files import ConfigError, exposed, home, tls_problems
from .types import Principal, is_loopback, lower, split_address

RANDOM_HEX = "`openssl rand -hex 32`"
_SHORTEST_TOKEN = 16


class AccessSettings(BaseSettings):
    """Part of `settings.Settings`."""

    grpc_address: str = Field(
        default="127.0.0.1:7443",
        description="host:port that gRPC listens on. Port 0 picks a free one; 0.0.0.0 listens on all interfaces.",
    )
    frontend: Annotated[Literal["grpc", "envoy"], BeforeValidator(lower)] = Field(
        default="grpc",
        description="What accepts connections. `grpc`: gRPC and, on its own port, HTTP. `envoy`: an Envoy that serves both on "
        "both ports; see operations.",
    )
    http_address: str = Field(
        default="127.0.0.1:7480",
        description="host:port for JSON, Connect, gRPC-Web, /healthz, /readyz and /metrics. Empty: no HTTP.",
    )
    console: bool = Field(
        default=True,
        description="Serve the web console at `/console` of `http_address`. Its files need no credential; its calls do.",
    )
    admin_address: str = Field(
        default="",
        description="host:port of HTTP for operators: /metrics, /healthz, /readyz and GetServerInfo. The other ports then have "
        "no /metrics. Empty: none.",
    )
    auth_tokens: dict[str, Principal] = Field(
        default_factory=dict,
        repr=False,
        description="Bearer tokens and their callers: a table of `token = {tenant, user_id, app, roles}` (JSON in the "
        "environment). `user_id` and `app` are optional and bind the caller to that user and that app; without `roles` the "
        "caller has the role `admin`. Without authentication every caller is of tenant `default`.",
    )
    auth_tokens_file: Path | None = Field(
        default=None,
        description="TOML file with more tokens in the form of `auth_tokens`, to keep them out of the settings file.",
    )
    insecure: bool = Field(
        default=False,
        description="Listen on other addresses than those of this machine without tokens: every caller that reaches the ports "
        "can read and change everything. For closed networks.",
    )
    tls_certificate: Path | None = Field(
        default=None,
        description="PEM file with the certificate chain of both ports. Requires `tls_private_key`. Absent: no TLS.",
    )
    tls_private_key: Path | None = Field(default=None, description="PEM file with the certificate's private key.")

    audit_log: str = Field(
        default="",
        description="File of the audit log: JSON lines, appended. It is created with mode 0600. `-`: standard error. "
        "Empty: none.",
    )
    receipt_key_file: Path | None = Field(
        default=None,
        description="PEM file with the Ed25519 private key that signs the receipts of erasures. Absent: they are not signed.",
    )
    audit_reads: bool = Field(default=False, description="Record calls that only read in the audit log, too.")

    @field_validator("auth_tokens_file", "tls_certificate", "tls_private_key", "receipt_key_file")
    @classmethod
    def _path(cls, value: Path | None) -> Path | None:
        return value if value is None else home(value)

    @field_validator("audit_log")
    @classmethod
    def _audit_log(cls, value: str) -> str:
        return str(home(Path(value))) if value else value

    @field_validator("grpc_address", "http_address", "admin_address")
    @classmethod
    def _address(cls, value: str) -> str:
        value = value.strip()
        if value:
            split_address(value)
        return value

    @field_validator("auth_tokens")
    @classmethod
    def _tokens(cls, value: dict[str, Principal]) -> dict[str, Principal]:
        if any(not token.strip() or token != token.strip() for token in value):
            raise ValueError("must not contain an empty token, or one that begins or ends with a blank")
        if any(len(token) < _SHORTEST_TOKEN for token in value):
            raise ValueError(f"must not contain a token of fewer than {_SHORTEST_TOKEN} characters: make one with {RANDOM_HEX}")
        return value

    @model_validator(mode="after")
    def _access(self) -> Self:
        problems: list[str] = []
        if not self.grpc_address:
            problems.append("grpc_address: must not be empty: gRPC is always served; set host:port")
        if self.grpc_address == self.http_address and split_address(self.grpc_address)[1] != 0:
            problems.append("http_address: must differ from grpc_address; choose another port, or empty for no HTTP")
        taken = {self.grpc_address, self.http_address} - {""}
        if self.admin_address in taken and split_address(self.admin_address)[1] != 0:
            problems.append("admin_address: must differ from grpc_address and http_address; choose another port")
        if (self.tls_certificate is None) != (self.tls_private_key is None):
            absent = "tls_private_key" if self.tls_private_key is None else "tls_certificate"
            problems.append(f"{absent}: must be set too: TLS needs both tls_certificate and tls_private_key")
        elif self.tls_certificate is not None and self.tls_private_key is not None:
            problems += tls_problems(self.tls_certificate, self.tls_private_key)
        if self.receipt_key_file and self.receipt_key_file.exists() and (problem := exposed(self.receipt_key_file)):
            problems.append(f"receipt_key_file: {problem}")
        if self.exposed_at and not self.authenticated and not self.insecure:
            problems.append(
                f"{self.exposed_at[0]}: must be an address of this machine, as in 127.0.0.1:7443, because without tokens every "
                "caller can read and change everything; set auth_tokens_file, or insecure = true on a closed network"
            )
        if problems:
            raise ConfigError(problems)
        return self

    @property
    def authenticated(self) -> bool:
        """Whether callers need a credential."""
        return bool(self.auth_tokens or self.auth_tokens_file)

    @property
    def exposed_at(self) -> list[str]:
        """The names of the settings with an address that other machines may reach."""
        addresses = {name: getattr(self, name) for name in ("grpc_address", "http_address", "admin_address")}
        return [name for name, address in addresses.items() if address and not is_loopback(split_address(address)[0])]

    @property
    def cautions(self) -> list[str]:
        """One line per setting that is allowed and dangerous."""
        if not self.exposed_at:
            return []
        if not self.authenticated:
            return ["insecure is set: without tokens every caller that reaches the ports can read and change everything"]
        if self.tls_certificate is None:
            return ["tls_certificate is not set: tokens and conversations cross the network in plain text"]
        return []
