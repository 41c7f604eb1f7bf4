"""The file of webhooks that compact: names, addresses and secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from .files import ConfigError, exposed, read_toml

_WHAT = "compaction_webhooks_file"
_FORM = '[name] with url = "https://...", secret = "whsec_..." and, if only some tenants may use it, tenants = ["..."]'
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class WebhookEntry(BaseModel):
    """One table of the file. `tenants` empty: every tenant."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    url: str = Field(min_length=1, repr=False)
    secret: str = Field(min_length=1, repr=False)
    tenants: tuple[Annotated[str, Field(min_length=1)], ...] = ()


_ENTRIES = TypeAdapter(dict[str, WebhookEntry])


def read_webhooks(path: Path) -> Mapping[str, WebhookEntry]:
    """Returns the webhooks of the file by name. Raises ConfigError, which contains neither addresses nor secrets."""
    found = read_toml(path, _WHAT)
    if problem := exposed(path):
        raise ConfigError([f"{_WHAT}: {problem}"])
    if bad := [name for name in found if not _NAME.fullmatch(name)]:
        raise ConfigError([f"{_WHAT}: {bad[0]!r} is not a name of a webhook: use up to 63 of a-z, 0-9, _ and -"])
    try:
        return _ENTRIES.validate_python(found)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ConfigError([f"{_WHAT}: {place}: {first['msg'].lower()}; the form is {_FORM}"]) from None
