"""Which languages an embedding model knows, measured by a few questions and answers in each.

A model that knows a language puts a question nearer to its answer than to the answers of other questions. One that does not
puts all texts of the language close together, by their script and their common words. This compares cosines of one model and
one language only, so it does not matter whether the model's cosines differ widely or are close together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..vectors import normalize

Floats = NDArray[np.float32]

WITHOUT_A_SIGN = 0.25
"""The part of its share that likeness counts in a language that the model does not know, if the scope's median is unknown."""

_OF_EACH = 4
_KNOWN = 2.0
# Twelve cosines that happen to be equal have hardly a standard deviation: so much of their distance to 1 is assumed.
_LEAST_DEVIATION = 0.03


class Probe(NamedTuple):
    """Questions in one language, and the answer to each, which shares no word of meaning with it."""

    questions: tuple[str, ...]
    answers: tuple[str, ...]


PROBES = {
    "English": Probe(
        (
            "What is the name of my dentist?",
            "How long does the ferry to the island take?",
            "When did we paint the kitchen?",
            "Who is going to water the plants?",
        ),
        (
            "Doctor Weber has looked after my teeth for years.",
            "The crossing by boat lasts forty minutes.",
            "The walls where we cook got their new color in spring.",
            "My neighbor takes care of the flowers while we are away.",
        ),
    ),
    "German": Probe(
        (
            "Wie heißt mein Zahnarzt?",
            "Wie lange braucht die Fähre zur Insel?",
            "Wann haben wir die Küche gestrichen?",
            "Wer gießt die Pflanzen?",
        ),
        (
            "Doktor Weber kümmert sich seit Jahren um mein Gebiss.",
            "Die Überfahrt mit dem Schiff dauert vierzig Minuten.",
            "Im Frühling bekamen die Wände neben dem Herd eine neue Farbe.",
            "Meine Nachbarin versorgt die Blumen, solange wir weg sind.",
        ),
    ),
    "Spanish": Probe(
        (
            "¿Cómo se llama mi dentista?",
            "¿Cuánto tarda el ferri hasta la isla?",
            "¿Cuándo pintamos la cocina?",
            "¿Quién va a regar las plantas?",
        ),
        (
            "El doctor Weber me cuida los dientes desde hace años.",
            "La travesía en barco dura cuarenta minutos.",
            "Las paredes junto al fogón cambiaron de color en primavera.",
            "Mi vecina se ocupa de las flores mientras estamos fuera.",
        ),
    ),
    "French": Probe(
        (
            "Comment s'appelle mon dentiste ?",
            "Combien de temps met le ferry pour aller sur l'île ?",
            "Quand avons-nous repeint la cuisine ?",
            "Qui va arroser les plantes ?",
        ),
        (
            "Le docteur Weber soigne mes dents depuis des années.",
            "La traversée en bateau dure quarante minutes.",
            "Les murs autour du four ont changé de couleur au printemps.",
            "Ma voisine s'occupe des fleurs pendant notre absence.",
        ),
    ),
    "Russian": Probe(
        (
            "Как зовут моего стоматолога?",
            "Сколько идёт паром до острова?",
            "Когда мы красили кухню?",
            "Кто будет поливать растения?",
        ),
        (
            "Доктор Вебер лечит мои зубы уже много лет.",
            "Переправа на судне занимает сорок минут.",
            "Весной стены возле плиты получили новый цвет.",
            "Соседка ухаживает за цветами, пока нас нет.",
        ),
    ),
    "Arabic": Probe(
        ("ما اسم طبيب أسناني؟", "كم تستغرق العبّارة إلى الجزيرة؟", "متى دهنّا المطبخ؟", "من سيسقي النباتات؟"),
        (
            "الدكتور ويبر يعالج ضروسي منذ سنوات.",
            "الرحلة بالقارب تدوم أربعين دقيقة.",
            "تغيّر لون الجدران قرب الموقد في الربيع.",
            "جارتي تعتني بالزهور أثناء غيابنا.",
        ),
    ),
    "Chinese": Probe(
        ("我的牙医叫什么名字?", "去岛上的渡轮要多久?", "我们什么时候粉刷了厨房?", "谁来给植物浇水?"),
        (
            "韦伯大夫多年来一直照看我的牙齿。",
            "坐船过去需要四十分钟。",
            "做饭那间屋子的墙在春天换了颜色。",
            "我们不在的时候邻居照顾花草。",
        ),
    ),
    "Japanese": Probe(
        (
            "私の歯医者の名前は何ですか?",
            "島へのフェリーはどのくらいかかりますか?",
            "台所の壁を塗ったのはいつですか?",
            "植物の水やりは誰がしますか?",
        ),
        (
            "ウェーバー先生が何年も虫歯を診てくれています。",
            "船で渡るのに四十分です。",
            "料理をする部屋は春に新しい色になりました。",
            "留守の間は隣の人が花の世話をしてくれます。",
        ),
    ),
    "Korean": Probe(
        (
            "내 치과 의사 이름이 뭐예요?",
            "섬까지 가는 페리는 얼마나 걸리나요?",
            "부엌을 언제 칠했나요?",
            "누가 화분에 물을 주나요?",
        ),
        (
            "베버 선생님이 몇 년째 내 이를 봐 주고 있어요.",
            "배로 건너는 데 사십 분이 걸려요.",
            "요리하는 방의 벽은 봄에 새 색이 되었어요.",
            "우리가 없는 동안 이웃이 꽃을 돌봐 줘요.",
        ),
    ),
}
"""By the language's name."""


def probe_questions() -> Sequence[str]:
    """The questions of all languages, to embed for `measured`."""
    return [question for probe in PROBES.values() for question in probe.questions]


def probe_answers() -> Sequence[str]:
    """The answers of all languages, in the order of `probe_questions`."""
    return [answer for probe in PROBES.values() for answer in probe.answers]


class Languages(NamedTuple):
    """Where a model puts the questions of each language of PROBES, (languages, d), and which of them it knows."""

    centers: Floats
    known: tuple[bool, ...]

    def knows(self, query: Floats) -> bool:
        """Whether the model knows the language of a query, which is taken to be the one whose questions are nearest. False for
        a query of zeros. `query`: its embedding."""
        return bool(query.any()) and self.known[int(np.argmax(self.centers @ query))]


def measured(questions: Floats, answers: Floats) -> Languages:
    """Of the embeddings of `probe_questions` and `probe_answers`."""
    by_language = [
        (questions[place : place + _OF_EACH], answers[place : place + _OF_EACH]) for place in range(0, len(questions), _OF_EACH)
    ]
    known = tuple(_separation(*each) >= _KNOWN for each in by_language)
    return Languages(normalize([asked.mean(axis=0) for asked, _ in by_language]), known)


def _separation(questions: Floats, answers: Floats) -> float:
    """Returns how far the cosines of questions and their own answers are above the others, in standard deviations of those."""
    cosines = (questions @ answers.T).astype(np.float64)
    own = np.eye(len(cosines), dtype=bool)
    others = cosines[~own]
    deviation = max(float(others.std()), _LEAST_DEVIATION * (1 - float(others.mean())), 1e-9)
    return float(cosines[own].mean() - others.mean()) / deviation
