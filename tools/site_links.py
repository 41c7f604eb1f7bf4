"""A hook of mkdocs: links to files of the repository that are not on the site become text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
SHOWN = {".md", ".png", ".svg"}
"""Pages and images."""
COPIED = DOCS / "benchmarks"
"""All of its files are on the site."""
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Keeps links to pages and other files of the site; tests/docs/test_links.py checks that the others lead to files."""
    folder = (DOCS / page.file.src_uri).parent

    def kept(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        known = target.suffix in SHOWN or target.is_relative_to(COPIED)
        return link[0] if target.is_relative_to(DOCS) and known else link[1]

    return _LINK.sub(kept, markdown)
