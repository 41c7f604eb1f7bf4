"""Which of the environment's THREADKEEP_ variables nothing reads; part of `config`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

ENV_PREFIX = "THREADKEEP_"
# No settings of the server: variables of the clients and the command line, and of the tests.
_OTHERS = (
    *("CONFIG", "ADDRESS", "TOKEN", "ALLOW_PLAINTEXT_TOKEN", "DEBUG"),
    *("REQUIRE_ALL", "LONG", "EXAMPLES", "KILLS", "SEED", "LANGUAGES", "SHARED_DATA", "SLOW_READER_S"),
)
_OTHER_PREFIXES = ("TEST_", "BENCH_", "MCP_")
# What Kubernetes and Docker set in every container beside a service that is called threadkeep.
_SERVICE_LINK = re.compile(r"(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)")
_LINK_VALUE = re.compile(r"(tcp|udp)://")


class UnknownVariables(NamedTuple):
    """A line for each: `misspelt` resemble a setting, `foreign` resemble nothing."""

    misspelt: list[str]
    foreign: list[str]


def unknown_variables(environment: Mapping[str, str], settings: Iterable[str]) -> UnknownVariables:
    """The variables that no setting and none of our programs reads."""
    known = [*(name.upper() for name in settings), *_OTHERS]
    found = UnknownVariables([], [])
    for variable in sorted(each for each in environment if each.upper().startswith(ENV_PREFIX)):
        name = variable.upper().removeprefix(ENV_PREFIX)
        is_link = _SERVICE_LINK.fullmatch(name) or _LINK_VALUE.match(environment[variable])
        if name in known or name.startswith(_OTHER_PREFIXES) or is_link:
            continue
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        if close:
            found.misspelt.append(f"{variable} (environment): there is no such setting; did you mean {ENV_PREFIX}{close[0]}?")
        else:
            found.foreign.append(
                f"{variable} is set but is no setting, and is ignored; `threadkeep config` prints every setting"
            )
    return found
