"""Detection of THREADKEEP_ environment variables that are not read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

ENV_PREFIX = "THREADKEEP_"
# Variables of the clients, the command line and the tests.
_OTHERS = (
    *("CONFIG", "ADDRESS", "TOKEN", "ALLOW_PLAINTEXT_TOKEN", "CA", "DEBUG"),
    *("REQUIRE_ALL", "LONG", "EXAMPLES", "KILLS", "SEED", "LANGUAGES", "SHARED_DATA", "SLOW_READER_S"),
)
_OTHER_PREFIXES = ("TEST_", "BENCH_", "MCP_")
# Variables that Kubernetes and Docker set in containers next to a service with the name threadkeep.
_SERVICE_LINK = re.compile(r"(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)")
_LINK_VALUE = re.compile(r"(tcp|udp)://")


class UnknownVariables(NamedTuple):
    """One line per variable: `misspelt` resemble a setting, `foreign` do not."""

    misspelt: list[str]
    foreign: list[str]


def unknown_variables(environment: Mapping[str, str], settings: Iterable[str]) -> UnknownVariables:
    """Returns the variables that neither a setting nor a Threadkeep program reads."""
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
