"""English words whose forms a stemmer does not bring together: irregular verbs and nouns, and British spellings."""

from __future__ import annotations

import re

# Forms with another meaning that is as frequent ("rose", "bit", "led", "wound") are left out.
_IRREGULAR = """
arise arose arisen; awake awoke awoken; beat beaten; begin began begun; bend bent; bite bitten; bleed bled; blow blew blown;
break broke broken; breed bred; bring brought; build built; burn burnt; buy bought; catch caught; choose chose chosen;
come came; creep crept; deal dealt; dig dug; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven;
eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; flee fled; fly flew flown;
forbid forbade forbidden; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; grow grew grown;
hang hung; hear heard; hide hid hidden; hold held; keep kept; kneel knelt; know knew known; lay laid; lean leant; leap leapt;
learn learnt; leave left; lend lent; lose lost; meet met; mistake mistook mistaken; overcome overcame; pay paid;
ride rode ridden; ring rang rung; rise risen; run ran; see saw seen; seek sought; sell sold; send sent; shake shook shaken;
shine shone; shoot shot; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; smell smelt;
speak spoke spoken; spell spelt; spend spent; spill spilt; spin spun; spoil spoilt; spring sprang sprung; stand stood;
steal stole stolen; stick stuck; sting stung; strike struck; swear swore sworn; sweep swept; swim swam swum; swing swung;
take took taken; teach taught; tear tore torn; tell told; think thought; throw threw thrown; undergo underwent undergone;
understand understood; undertake undertook undertaken; wake woke woken; wear wore worn; weave wove woven; weep wept; win won;
withdraw withdrew withdrawn; write wrote written; rebuild rebuilt; rewrite rewrote rewritten; resell resold;
child children; foot feet; goose geese; half halves; knife knives; loaf loaves; man men; mouse mice; shelf shelves;
thief thieves; tooth teeth; wife wives; wolf wolves; woman women;
center centre centres; theater theatre theatres; liter litre litres; meter metre metres; kilometer kilometre kilometres;
fiber fibre fibres; defense defence; gray grey; program programme programmes
"""

_PLAIN = {form: base for base, *forms in map(str.split, _IRREGULAR.split(";")) for form in forms}

_OUR = re.compile(
    "^((?:dis|mis|multi|re|un)?(?:arb|ard|arm|behavi|cand|clam|col|demean|end|fav|flav|glam|harb|hon|hum|lab|neighb|od|parl|"
    "ranc|rig|rum|savi|sav|splend|succ|tum|val|vap|vig))our"
)
_ISE = re.compile("(?:is|lys)$")
_SHORTEST = 6  # of a stem in -is: "rais" and "advis" are of other words


def plain_form(word: str) -> str:
    """Returns the form of a word, in lower case, that its stem is taken of: break for broke, color for colour."""
    return _PLAIN.get(word) or _OUR.sub(r"\1or", word, count=1)


def american(stem: str) -> str:
    """Returns the American spelling of the word with this stem (organize for organis), or the empty string if it has no
    other. By the stem, so that all forms of a word change, or none; that promise becomes promize does no harm."""
    return f"{stem[:-1]}ze" if len(stem) >= _SHORTEST and _ISE.search(stem) else ""
