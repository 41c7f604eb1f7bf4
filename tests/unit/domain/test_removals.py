"""The lines of erased events, from which digests are computed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from threadkeep_server.domain.removals import event_line, event_lines, superseded_id

CHARACTERS = st.characters(codec="utf-8", min_codepoint=0x20, exclude_characters="\x7f")
IDS = st.text(CHARACTERS, min_size=1, max_size=3) | st.sampled_from(["a", "a!", "ab"])


@given(st.dictionaries(IDS, st.sets(st.integers(1, 2000), min_size=1, max_size=4), max_size=6))
def test_lines_of_ids_with_several_versions_are_sorted(versions: dict[str, set[int]]) -> None:
    stored: list[tuple[str, int]] = []
    for event_id, seqs in versions.items():
        newest = max(seqs)
        stored.append((event_id, newest))
        stored += [(superseded_id(event_id, seq), seq) for seq in seqs - {newest}]
    stored.sort(key=lambda each: each[0].encode())
    lines = list(event_lines("shop", "ann", "s", iter(stored)))
    wanted = [event_line("shop", "ann", "s", event_id, seq) for event_id, seqs in versions.items() for seq in seqs]
    assert lines == sorted(wanted, key=str.encode)
