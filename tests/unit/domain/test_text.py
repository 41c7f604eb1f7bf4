"""Folding and counting: one definition for every store."""

from __future__ import annotations

import pytest

from threadkeep_server.domain.text import estimate_tokens, fold


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Spring AI", "spring ai"),
        ("ÄPFEL", "äpfel"),
        ("STRASSE", "straße"),
        ("ß", "SS"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("İ", "i̇"),  # the dot above survives as a combining character
        ("ﬁn", "FIN"),  # a ligature
        ("ǅ", "ǆ"),  # title case
        ("ᏸ", "Ᏸ"),  # Cherokee folds to upper case
    ],
)
def test_texts_that_differ_in_case_only_fold_alike(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), [("i", "ı"), ("é", "e"), ("é", "e\u0301"), ("a", "a "), ("%", "_")])
def test_other_texts_do_not_fold_alike(one: str, other: str) -> None:
    """No normalization, no accent stripping, no trimming, no wildcards."""
    assert fold(one) != fold(other)


@pytest.mark.parametrize("text", ["ΌΣΟΣ\x00", "İstanbul", "ß", "\u1e9e", "ŉ", "漢字", "🦀"])
def test_folding_twice_changes_nothing(text: str) -> None:
    """The stored text and the keyword are folded separately, so fold has to be stable."""
    assert fold(fold(text)) == fold(text)


def test_nul_is_folded_to_a_character_that_postgresql_can_hold() -> None:
    assert fold("a\x00B") == "a\ufffdb"
    assert fold("a\x00b") == fold("A\ufffdB")


@pytest.mark.parametrize(("characters", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2), (9, 3), (4_000_001, 1_000_001)])
def test_one_token_for_every_four_characters_rounded_up(characters: int, tokens: int) -> None:
    assert estimate_tokens(characters) == tokens
