"""Scripts of characters, by code point ranges.

The standard library has no script property. The ranges follow Scripts.txt of Unicode 14, the version of the oldest supported
Python. The ranges of unspaced scripts contain letters only: digits belong to no script, and marks follow their letter.

The library `regex` has the property, but its version would change the terms of an existing index, and its patterns make
`index_terms` 2 to 7 times slower for accented Latin and Cyrillic text.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from enum import IntEnum
from functools import lru_cache


class Script(IntEnum):
    """OTHER: letters of other scripts, and characters that are not letters."""

    OTHER = 0
    LATIN = 1
    GREEK = 2
    CYRILLIC = 3
    ARABIC = 4
    HEBREW = 5
    DEVANAGARI = 6
    # Scripts without blanks between words, or, like Korean, with blanks that do not separate words exactly.
    HAN = 10
    HIRAGANA = 11
    KATAKANA = 12
    HANGUL = 13
    THAI = 14
    LAO = 15
    KHMER = 16
    MYANMAR = 17
    TIBETAN = 18

    @property
    def unspaced(self) -> bool:
        return self >= Script.HAN


_SPELT = {
    Script.LATIN: (
        "41-5A 61-7A AA B5 BA C0-2AF 1D00-1D7F 1E00-1EFF 2C60-2C7F A722-A787 A78B-A7CA FB00-FB06 FF21-FF3A FF41-FF5A"
    ),
    Script.GREEK: "370-373 376-37D 37F 386 388-3E1 3F0-3FF 1F00-1FFC",
    Script.CYRILLIC: "400-481 48A-52F 1C80-1C88 A640-A66E A680-A69D",
    Script.ARABIC: "620-64A 66E-66F 671-6D3 6D5 6FA-6FC 750-77F 8A0-8C9 FB50-FDFB FE70-FEFC",
    Script.HEBREW: "5D0-5F2 FB1D-FB4F",
    Script.DEVANAGARI: "904-939 93D 950 958-961 971-97F A8F2-A8F7",
    Script.HAN: (
        "3005-3007 3021-3029 3038-303B 3400-4DBF 4E00-9FFF F900-FA6D FA70-FAD9 20000-2A6DF 2A700-2B738 "
        "2B740-2B81D 2B820-2CEA1 2CEB0-2EBE0 2F800-2FA1D 30000-3134A"
    ),
    Script.HIRAGANA: "3041-3096 309D-309F 1B001-1B11F 1B150-1B152",
    Script.KATAKANA: "30A1-30FA 30FC-30FF 31F0-31FF FF66-FF9F 1B164-1B167",
    Script.HANGUL: (
        "1100-11FF 3131-3163 3165-318E A960-A97C AC00-D7A3 D7B0-D7C6 D7CB-D7FB FFA1-FFBE FFC2-FFC7 FFCA-FFCF "
        "FFD2-FFD7 FFDA-FFDC"
    ),
    Script.THAI: "E01-E30 E32-E33 E40-E46",
    Script.LAO: "E81-E82 E84 E86-E8A E8C-EA3 EA5 EA7-EB0 EB2-EB3 EBD EC0-EC4 EC6 EDC-EDF",
    Script.KHMER: "1780-17B3 17D7 17DC",
    Script.MYANMAR: (
        "1000-102A 103F 1050-1055 105A-105D 1061 1065-1066 106E-1070 1075-1081 108E A9E0-A9E4 A9E6-A9EF "
        "A9FA-A9FE AA60-AA76 AA7A AA7E-AA7F"
    ),
    Script.TIBETAN: "F00 F40-F47 F49-F6C F88-F8C",
}


def _read(spelt: str) -> tuple[tuple[int, int], ...]:
    ends = [part.partition("-") for part in spelt.split()]
    return tuple((int(first, 16), int(last or first, 16)) for first, _, last in ends)


_RANGES = {script: _read(spelt) for script, spelt in _SPELT.items()}
_TABLE = sorted((first, last, script) for script, ranges in _RANGES.items() for first, last in ranges)
_FIRSTS = [first for first, _, _ in _TABLE]


@lru_cache(4096)
def script_of(character: str) -> Script:
    """Returns the script of a letter; OTHER for a letter of another script, and for other characters."""
    code = ord(character)
    place = bisect_right(_FIRSTS, code) - 1
    if place < 0:
        return Script.OTHER
    _, last, script = _TABLE[place]
    return script if code <= last else Script.OTHER


def letters(script: Script) -> str:
    """Returns the letters of the script, as the inside of a character class of a regular expression."""
    return _inside(_RANGES[script])


def _inside(ranges: tuple[tuple[int, int], ...]) -> str:
    return "".join(re.escape(chr(first)) + "-" + re.escape(chr(last)) for first, last in ranges)


def _marks() -> str:
    """Returns every mark (categories Mn, Mc, Me); they are in the first two planes, variation selectors in the fifteenth."""
    found: list[tuple[int, int]] = []
    for code in (*range(0x300, 0x1F000), *range(0xE0100, 0xE01F0)):
        if unicodedata.category(chr(code))[0] == "M":
            if found and found[-1][1] == code - 1:
                found[-1] = (found[-1][0], code)
            else:
                found.append((code, code))
    return _inside(tuple(found))


UNSPACED = tuple(script for script in Script if script.unspaced)
MARKS = _marks()
"""The inside of a character class with every mark."""
