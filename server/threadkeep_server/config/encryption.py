"""The settings of encryption at rest; part of `settings.Settings`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic_settings import BaseSettings

from .files import ConfigError, exposed, home
from .types import listed


class EncryptionSettings(BaseSettings):
    """Part of `settings.Settings`."""

    encryption_key_file: Path | None = Field(
        default=None,
        description="File with the master key that encrypts events and memories at rest: 32 bytes in base64, as from "
        "`openssl rand -base64 32`. Further lines are earlier keys. Absent: no encryption, unless another setting has the key.",
    )
    encryption_key: str = Field(default="", repr=False, description="The content of such a file, for the environment.")
    encryption_key_command: str = Field(
        default="",
        description="Command that prints the content of such a file, such as one that decrypts it with a key management "
        "service. It runs once, at start, without a shell, for at most 30 s.",
    )
    encrypted_tenants: Annotated[str, BeforeValidator(listed)] = Field(
        default="",
        description="Tenants to encrypt, separated by commas. Empty: all. A tenant that was encrypted stays encrypted.",
    )
    encrypted_search: bool = Field(
        default=True,
        description="Search encrypted tenants, by decrypting up to `search_scan_bytes` per search: they have no index. Off: "
        "their searches are SEARCH_DISABLED.",
    )

    @field_validator("encryption_key_file")
    @classmethod
    def _key_file(cls, value: Path | None) -> Path | None:
        return value if value is None else home(value)

    @model_validator(mode="after")
    def _encryption(self) -> Self:
        names = ("encryption_key_file", "encryption_key", "encryption_key_command")
        given = [name for name in names if getattr(self, name)]
        problems = []
        if len(given) > 1:
            problems.append(f"{given[1]}: must not be set with {given[0]}; the master key comes from one of them")
        if self.encrypted_tenants and not given:
            problems.append("encrypted_tenants: needs a master key; set encryption_key_file")
        if self.encryption_key_file and self.encryption_key_file.exists() and (problem := exposed(self.encryption_key_file)):
            problems.append(f"encryption_key_file: {problem}")
        if problems:
            raise ConfigError(problems)
        return self
