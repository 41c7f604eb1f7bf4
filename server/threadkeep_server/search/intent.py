"""What a question is after: who said it, whether the answer is a number, whether the present state counts.

Small lists of words, of English mostly; a question that has none of them is ranked without."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..domain.model import Role

_FIRST = """
i i'd i'm i'll i've me mine my myself our ours ourselves us we we'd we're we'll we've
ich mein meine meinem meinen meiner mich mir unser unsere wir je j'ai mes moi mon ma nous notre nos
yo mi mis conmigo nosotros nuestro nuestra я меня мне мной мой моя моё мои моего моей мы наш наша наши
"""
_SECOND = """
you you'd you'll you're you've your yours yourself du dich dir dein deine deinen deiner
tu te toi ton ta tes vous votre vos usted tus ты тебя тебе твой твоя твои вы вас вам ваш ваша
"""
_FRENCH = "as dans de des est la le les où que quel quelle qui tu un une"
_GERMAN = """
bist das dein deine dem den der die ein eine für hast hattest ich im ist kannst mich mir nicht wann warst warum was welche
welchen welcher welches wie wo
"""
# Words of two languages count where other words of the one are: a ton is a weight, and the French "du" is no pronoun.
_AMBIGUOUS = {"ton": frozenset(_FRENCH.split()), "du": frozenset(_GERMAN.split())}
_FIRST_PERSON, _SECOND_PERSON = frozenset(_FIRST.split()), frozenset(_SECOND.split())
_FIRST_UNSPACED = re.compile("[我俺僕]|私(?!立)|わたし|ぼく")
_SECOND_UNSPACED = re.compile("[你您]|あなた|(?<![ぁ-ヺ一-鿿])君(?=[はがのをにもとへ])")
_NUMBER = re.compile(
    r"\bhow (?:big|early|far|fast|heavy|high|large|late|long|many|much|often|old|quickly|tall)\b|"
    r"\bwhen\b|\bwhat (?:time|day|year)\b|"
    r"\b(?:amount|costs?|date|extension|fee|number|percentage|price|rate|rent|salary|size|sum|version)\b|"
    r"\bwie ?viele?\b|\bwann\b|\bcombien\b|\bquand\b|\bcuánt[oa]s?\b|\bcuándo\b|сколько|когда|"
    r"多少|几(?![乎何率])|幾(?![乎何])|いつ|いくら|何[時日月年人個]"
)
_PRESENT = re.compile(
    r"\b(?:at the moment|at present|by now|current|currently|finally|in the end|latest|most recent|newest|now|nowadays|present|"
    r"still|these days|jetzt|zurzeit|inzwischen|aktuell|maintenant|actuellement|ahora|actualmente)\b|"
    r"сейчас|теперь|现在|目前|最新|今は|最近"
)


@dataclass(frozen=True, slots=True)
class Intent:
    """`role`: the role whose messages the question is about, 0 for any: "I" and "my" refer to what the user said, "you" to what
    the assistant said. `number`: the answer is likely a number or a date. `present`: the latest of several answers counts."""

    role: int = 0
    number: bool = False
    present: bool = False


NOTHING = Intent()


def intent_of(text: str, words: frozenset[str]) -> Intent:
    """`words`: those of the text, in lower case."""
    lower = text.casefold()
    role = 0
    second = {word for word in words & _SECOND_PERSON if word not in _AMBIGUOUS or words & _AMBIGUOUS[word]}
    if second or _SECOND_UNSPACED.search(lower):
        role = Role.ASSISTANT
    elif words & _FIRST_PERSON or _FIRST_UNSPACED.search(lower):
        role = Role.USER
    return Intent(role, bool(_NUMBER.search(lower)), bool(_PRESENT.search(lower)))
