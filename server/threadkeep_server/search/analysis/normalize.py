"""Normalization of words to terms.

Compatibility forms (full width, ligatures, presentation forms), case, and the diacritics of Latin, Greek, Cyrillic, Arabic
and Hebrew are folded, and so is the nukta of Devanagari, which many leave out; then the word is stemmed by the Snowball stemmer
of its script (English for all of Latin; for Hebrew the article is dropped). Marks with the role of letters stay: vowel signs of
Indic scripts and of Thai, the voicing marks of kana, the breve of й.
"""

from __future__ import annotations

import re
import unicodedata

import Stemmer

from .scripts import Script, script_of
from .spellings import american, plain_form

LONGEST_TERM = 64
"""Characters of a term; longer ones are cut."""

JOINT = "\ue000"
"""Joins two numbers of one term ("3.14", "10:05"), so that it differs from the term of "314". Texts do not contain it."""

# Marks that only affect pronunciation: combining diacritics, Hebrew points, Arabic and Syriac vowels, the nukta, variation
# selectors, and tatweel and modifier apostrophes, which are letters to Unicode.
_SILENT = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u093c\u08ca-\u08e1\u08e3-\u08ff\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u20d0-\u20ff\ufb1e\ufe00-\ufe0f\ufe20-\ufe2f\U000e0100-\U000e01ef\u02b0-\u02ff]+"
)

# Letters without a decomposition that readers see as a letter with an ornament; and letters that differ on Arabic and Persian
# keyboards only.
_ALIKE = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th", "ĸ": "k"}
    | {"ی": "ي", "ى": "ي", "ک": "ك", "ە": "ه", "\u2044": JOINT}
)

_BREVES = str.maketrans({"й": "\ue001", "ї": "\ue002", "ў": "\ue003"})
_BREVES_BACK = str.maketrans({"\ue001": "й", "\ue002": "ї", "\ue003": "ў"})

_STEMMERS = {
    Script.LATIN: Stemmer.Stemmer("english", 0),  # The analyzer has its own cache.
    Script.GREEK: Stemmer.Stemmer("greek", 0),
    Script.CYRILLIC: Stemmer.Stemmer("russian", 0),
    Script.ARABIC: Stemmer.Stemmer("arabic", 0),
    Script.DEVANAGARI: Stemmer.Stemmer("hindi", 0),
}
_ENGLISH = _STEMMERS[Script.LATIN]
# The Hebrew article, also behind "and", "that", "when", "in", "to" and "from". Of short words it is a letter of their own.
_HEBREW_ARTICLE = re.compile("^[ושכבלמ]?ה(?=.{3})")
_MOST_FOLDED = 4 * LONGEST_TERM


def fold(word: str) -> str:
    """Folds a word or a part of one, without stemming; the result may be empty. Reads only the beginning of very long words."""
    word = word[:_MOST_FOLDED]
    if word.isascii():
        return word.lower()
    word = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", word).casefold()).translate(_BREVES)
    word = _SILENT.sub("", unicodedata.normalize("NFKD", word)).casefold().translate(_ALIKE)
    word = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", word)).translate(_BREVES_BACK)
    return "".join(_plain(character) for character in word)


def _plain(character: str) -> str:
    """Returns the character, a digit in its European form; empty for a character that terms do not contain."""
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    return character if category[0] in "LMN" or character == JOINT else ""


def stem(word: str) -> str:
    """Returns the term of a folded word: stemmed if all its letters are of one script with a stemmer, cut to LONGEST_TERM."""
    if len(word) > LONGEST_TERM:
        return word[:LONGEST_TERM]
    if word.isascii():
        return _english(word) if word.isalpha() else word
    return _HEBREW_ARTICLE.sub("", word) if _script(word) is Script.HEBREW else snowball(word)


def snowball(word: str) -> str:
    """Returns what the stemmer alone makes of a folded word."""
    if len(word) > LONGEST_TERM:
        return word[:LONGEST_TERM]
    if word.isascii():
        return str(_ENGLISH.stemWord(word)) if word.isalpha() else word
    stemmer = _STEMMERS.get(_script(word))
    return stemmer.stemWord(word) or word if stemmer else word


def _script(word: str) -> Script:
    """Returns the one script of its letters; OTHER if there are several."""
    scripts = {script_of(character) for character in word if unicodedata.category(character)[0] != "M"}
    return scripts.pop() if len(scripts) == 1 else Script.OTHER


def _english(word: str) -> str:
    stemmed: str = _ENGLISH.stemWord(plain_form(word))
    other = american(stemmed)
    return _ENGLISH.stemWord(other) if other else stemmed
