"""Stop words: indexed, but dropped from queries."""

from __future__ import annotations

from .normalize import stem

_ENGLISH = """
a about above after again against all along also although am among an and another any anybody anyone anything are aren't
around as at be became because become becomes been before being below between both but by can can't cannot could
couldn't did didn't do does doesn't doing don't done down during each either else ever every everybody everyone
everything few for from further get gets getting give given gives go goes going gone got had hadn't has hasn't have
haven't having he he'd he'll he's hence her here here's hers herself him himself his how how's however i i'd i'll i'm
i've if in indeed instead into is isn't it it's its itself just kind let let's like likely long made make makes making
many may maybe me mean means might mine more most much must mustn't my myself neither never no nobody none nor not
nothing now of off often oh ok okay on once one ones only onto or other others otherwise ought our ours ourselves out
over own per perhaps please possible possibly quite rather really regarding said same say saying says shall shan't she
she'd she'll she's should shouldn't since so some somebody someone something sometimes somewhere still such sure than
that that's the their theirs them themselves then there there's thereby therefore these they they'd they'll they're
they've thing things this those though through thus till to together too toward towards under unless until up upon us
use used using usually very via was wasn't way ways we we'd we'll we're we've well went were weren't what what's
whatever when when's whenever where where's whereas wherever whether which whichever while who who's whoever whole whom
whose why why's will with within without won't would wouldn't yeah yes yet you you'd you'll you're you've your yours
yourself yourselves
"""

STOP_WORDS = frozenset(_ENGLISH.split())
"""English function and question words, lower case, with apostrophes."""

# Words that say nothing in any form, and nouns that do not in the plural either. Of others some forms do: "owner", "kindness".
_VERBS = frozenset(map(stem, ("become", "get", "give", "go", "let", "make", "say")))
_NOUNS = frozenset(("kind", "lot", "sort", "stuff", "thing", "type", "way"))


def is_stop_word(word: str) -> bool:
    """Whether a word, in lower case and with ASCII apostrophes, is dropped from queries."""
    return (
        word in STOP_WORDS or word.removesuffix("s") in _NOUNS or (word.isascii() and word.isalpha() and stem(word) in _VERBS)
    )


_OPENERS = """
according add ask assuming based bring check compare compute concerning considering count define describe discuss
draft enumerate estimate explain fetch find first following given hello help hey hi identify including judging knowing
last list look looking mention name next number open order outline pick plan point print provide pull read recall
recommend remember remind report retrieve return review search see select send show sort specify start state suggest
summarise summarize supposing talk talking tell thank thanks think thinking today tomorrow try update using want what
which write yesterday
"""

NO_NAMES = STOP_WORDS | frozenset(_OPENERS.split())
"""Words that are not names even if capitalized, since queries begin with them."""
