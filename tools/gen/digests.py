"""Whether the generated code is what `make proto` wrote from these protos, without generating it again.

python tools/gen/digests.py FILE PLACE...          writes the digests of what code is generated from, and of each place
python tools/gen/digests.py --check FILE PLACE...  fails if one differs, or a place has files that git does not know

Generating again takes the tools of five languages, which take a minute to build; `THREADKEEP_LONG=1 make check-gen` does.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ("proto/threadkeep", "tools/gen")
"""The protos, and the pinned tools and templates."""


def tracked(place: str) -> list[str]:
    """Returns the files of a place that git knows or would add, sorted."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", place]
    listed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    return sorted(name for name in set(listed.split("\0")) if name and (ROOT / name).is_file())


def digest_of(places: list[str], besides: Path) -> str:
    """Returns the SHA-256 of the names and contents of all files of these places but one."""
    found = hashlib.sha256()
    for place in places:
        for name in tracked(place):
            if ROOT / name != besides:
                content = (ROOT / name).read_bytes()
                found.update(f"{name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


def main() -> int:
    """Writes or checks the digests. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("file", type=Path, help="the file of digests")
    parser.add_argument("places", nargs="+", metavar="PLACE", help="a folder of generated code")
    arguments = parser.parse_args()
    file = arguments.file.resolve()
    digests = {"sources": digest_of([*SOURCES], file), **{place: digest_of([place], file) for place in arguments.places}}
    text = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    if not arguments.check:
        file.write_text(text)
        return 0
    recorded = set(file.read_text().splitlines()) if file.exists() else set()
    differing = [line.partition("  ")[2] for line in text.splitlines() if line not in recorded]
    for name in differing:
        print(f"{name} changed since code was generated: run make proto, and commit what it writes", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
