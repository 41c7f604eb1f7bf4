"""Immutable mappings that can be copied, pickled and written as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn


class Frozen(dict[str, Any]):
    """A dict that raises TypeError when it is changed. Its values are not copied."""

    __slots__ = ()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("this mapping cannot be changed; the values that hold it are changed with their with_... methods")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type[Frozen], tuple[dict[str, Any]]]:
        return Frozen, (dict(self),)

    def copy(self) -> Frozen:
        return self


_NOTHING = Frozen()


def nothing() -> Mapping[str, Any]:
    """Returns the empty mapping, always the same object."""
    return _NOTHING


def frozen(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns an immutable copy. Raises TypeError if the argument is not a mapping."""
    if not isinstance(values, Mapping):
        raise TypeError(f"a mapping of names to values is needed, not {type(values).__name__}")
    return values if isinstance(values, Frozen) else Frozen(values)
