"""Texts of many scripts, and how random ones are drawn."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import strategies as st

from threadkeep_server.search.analysis import analyzer
from threadkeep_server.search.analysis.analyzer import Token, query_tokens

SAMPLES = (
    "Caroline's dogs don't run; user@example.com wrote snake_case and getUserName in /usr/lib/x.py at 10:05.",
    "Die größten Straßen in Düsseldorf, Maße und Übergrößen",
    "L'homme a mangé une crème brûlée à l'école, aujourd'hui.",
    "İstanbul'da ışık, Iğdır ve ŞİŞLİ",
    "Я люблю книги; ёлка, майский п'ять йод",
    "Οι ΓΆΤΕΣ της Αθήνας, Σίσυφος ΐ ᾳ",
    "الكِتَابُ الجديد كتــاب ٢٠٢٣ می‌خواهم",
    "שָׁלוֹם עולם ב-Google",
    "हिन्दी में किताबें क़लम",
    "今天我们去了北京大学。",
    "今日は東京タワーへ行きました。ラーメン々ｶﾞﾝﾊﾞﾙ は\u3099",
    "한국어 검색 \u1112\u1161\u11ab\u1100\u1173\u11af",
    "ภาษาไทยน้ำๆ ລາວ ខ្មែរ မြန်မာ བོད་ཡིག",
    "🎉 emoji 1️⃣ 👩‍👩‍👧 a\x00b \ue000\ue100",
    "C++17 in f79727378f39ab12, C# i++ 10k 3.5GB 👍🏽 🇩🇪 colonisation, savoury harbours broken",
    "iPhone手机 C3PO Ａｂｃ１２ ﬁn x² ½ ㌔ 1,000 3.14 v1.2.3 2023-05-07 7th URLs",
)

_ALPHABET = "".join(sorted(set("".join(SAMPLES)))) + "\n\t '’\"“”.,_-/\\@:\u00ad\u200b\u200c\u0301\u3099\u0345ßİŉǅ"

texts = st.one_of(
    st.sampled_from(SAMPLES), st.text(), st.text(alphabet=_ALPHABET), st.lists(st.sampled_from(SAMPLES)).map(" ".join)
)
"""Any text, and texts of the samples' own characters, so that scripts and joints meet."""


def tokens(text: str) -> Iterator[Token]:
    """The terms of a document with their places."""
    return analyzer.tokens(text, question=False)


def query_terms(text: str) -> list[str]:
    return [token.term for token in query_tokens(text)]
