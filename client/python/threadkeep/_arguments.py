"""Rejects unknown argument names and suggests the right one."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def refuse_unknown(method: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raises TypeError for the first unknown name, with the name that resembles it, else with all."""
    names = list(known)
    for name in given:
        if name not in names:
            related = [each for each in names if name.startswith(each) or each.startswith(name)]
            close = related or difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]}?" if close else f"it takes {', '.join(names)}"
            raise TypeError(f"{method} has no argument {name!r}; {hint}")


class NamesArguments:
    """Rejects unknown arguments of the constructors and the public methods of subclasses, by `refuse_unknown`.

    Methods with `**` arguments, for example the fields of a ContextSpec, check those themselves.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, method in list(vars(cls).items()):
            if inspect.isfunction(method) and (name == "__init__" or not name.startswith("_")):
                setattr(cls, name, _checked(method))


def _checked(method: Callable[..., Any]) -> Callable[..., Any]:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters):
        return method
    names = dict.fromkeys(each.name for each in parameters if each.kind is not inspect.Parameter.VAR_POSITIONAL)

    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs.keys() <= names.keys():
            refuse_unknown("Client" if method.__name__ == "__init__" else method.__name__, kwargs, names)
        return method(*args, **kwargs)

    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return await call(*args, **kwargs)

    return functools.wraps(method)(awaited if inspect.iscoroutinefunction(method) else call)
