"""The state of a session, a user or an app, as it was read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..v1.state_pb2 import StatePage


@dataclass(frozen=True, slots=True)
class State(Mapping[str, Any]):
    """Values by key, as `json.loads` reads them, and the version to expect in a patch. `texts`: the JSON text of each value,
    as it was set. `complete`: false if values are left out, because they did not fit into the response; a state handle's `get`
    returns them."""

    texts: Mapping[str, str]
    version: int = 0
    complete: bool = True

    def __getitem__(self, key: str) -> Any:
        return json.loads(self.texts[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)


def state_of(page: StatePage) -> State:
    """The state of a page, its keys in the order of the server."""
    return State(dict(sorted(page.values.items(), key=lambda item: item[0].encode())), page.version, not page.more)
