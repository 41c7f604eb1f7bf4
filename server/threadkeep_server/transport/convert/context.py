"""Conversion of context specifications."""

from __future__ import annotations

from functools import lru_cache

from threadkeep.v1 import context_pb2

from ...domain import validation
from ...domain.context import ContextMode, ContextSpec
from ...domain.errors import InvalidField
from .sessions import author_steps, check_author_filters

_MODES = {
    context_pb2.CONTEXT_MODE_UNSPECIFIED: ContextMode.READ_WRITE,
    context_pb2.CONTEXT_MODE_NONE: ContextMode.NONE,
    context_pb2.CONTEXT_MODE_READ_WRITE: ContextMode.READ_WRITE,
    context_pb2.CONTEXT_MODE_READ_ONLY: ContextMode.READ_ONLY,
    context_pb2.CONTEXT_MODE_WRITE_ONLY: ContextMode.WRITE_ONLY,
}
_MAX_AUTHOR_ROLES = 1024
_MAX_CACHED_BYTES = 1024


def spec_of(spec: context_pb2.ContextSpec) -> ContextSpec:
    """Returns the validated spec. Raises InvalidField with `spec.<field>`. Cached, because agents repeat the same specs."""
    validation.count("spec.author_roles", spec.author_roles, _MAX_AUTHOR_ROLES)
    check_author_filters("spec.author_filters", spec.author_filters)
    raw = spec.SerializeToString(deterministic=True)
    return _cached_spec(raw) if len(raw) <= _MAX_CACHED_BYTES else _spec_of(spec)


@lru_cache(maxsize=1024)
def _cached_spec(raw: bytes) -> ContextSpec:
    return _spec_of(context_pb2.ContextSpec.FromString(raw))


def _spec_of(spec: context_pb2.ContextSpec) -> ContextSpec:
    mode = _MODES.get(spec.mode)
    if mode is None:
        raise InvalidField("spec.mode", "must be a CONTEXT_MODE")
    roles = {
        validation.identifier("spec.author_roles key", author, required=True): validation.identifier(
            f"spec.author_roles[{author!r}]", role
        )
        for author, role in spec.author_roles.items()
    }
    return ContextSpec(
        mode=mode,
        authors=author_steps("spec.author_filters", spec.author_filters),
        author_roles=roles,
        last_n=spec.last_n if spec.HasField("last_n") else None,
        max_turns=spec.max_turns if spec.HasField("max_turns") else None,
        max_bytes=spec.max_bytes if spec.HasField("max_bytes") else None,
        max_tokens=spec.max_tokens if spec.HasField("max_tokens") else None,
        branch=validation.branch("spec.branch", spec.branch),
        include_system=not spec.exclude_system,
    )
