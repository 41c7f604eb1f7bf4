"""Each step of the ranking, by candidates that differ in it alone; and what holds for all of them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.unit.search.ranking_cases import BARE, candidate, order, requested
from threadkeep_server.domain.search import Candidates
from threadkeep_server.search.analysis.terms import QUESTION, speaker_terms
from threadkeep_server.search.intent import Intent
from threadkeep_server.search.query import Query
from threadkeep_server.search.ranking.fusion import Meaning
from threadkeep_server.search.ranking.relevance import UNRELATED
from threadkeep_server.search.ranking.scoring import DEFAULT, Weights, rank


def test_no_candidates_give_no_hits() -> None:
    assert rank(requested("tea"), Candidates([], 10)) == []


def test_a_question_without_terms_ranks_the_latest_first() -> None:
    assert order(Query("", {}), [candidate(1, "a"), candidate(3, "b"), candidate(2, "c")]) == [3, 2, 1]


def test_equals_are_ranked_later_key_first() -> None:
    assert order(requested("tea"), [candidate(key, "green tea") for key in (4, 9, 2)]) == [9, 4, 2]


def test_bm25_follows_its_formula() -> None:
    found = [candidate(1, "tea tea cake"), candidate(2, "tea")]
    scores = {each.key: each.score for each in rank(requested("tea"), Candidates(found, 100, {"tea": 10}), BARE)}
    rarity = math.log(1 + (100 - 10 + 0.5) / (10 + 0.5))
    for key, count, length in ((1, 2, 3), (2, 1, 1)):
        saturated = count * 1.9 / (count + 0.9 * (0.25 + 0.75 * max(length, 2) / 2))
        assert scores[key] == pytest.approx(rarity * saturated)


def test_the_weight_of_a_term_is_a_factor() -> None:
    candidates = Candidates([candidate(1, "tea")], 100, {"tea": 10})
    once, twice = (rank(Query("", {"tea": weight}), candidates, BARE)[0].score for weight in (1.0, 2.0))
    assert twice == pytest.approx(2 * once)


def test_rare_terms_count_more() -> None:
    assert (
        order(
            requested("tea samovar"),
            [candidate(1, "samovar"), candidate(2, "tea")],
            BARE,
            frequencies={"tea": 300, "samovar": 3},
        )[0]
        == 1
    )


def test_a_term_without_a_frequency_counts_by_its_occurrences() -> None:
    found = [candidate(1, "samovar"), candidate(2, "tea"), candidate(3, "tea")]
    assert order(requested("tea samovar"), found, BARE, frequencies={})[0] == 1


def test_spoken_text_counts_more_than_tool_results() -> None:
    found = [candidate(1, "tea"), candidate(2, "", fields={"results": "tea"}), candidate(3, "", fields={"calls": "tea"})]
    assert order(requested("tea"), found, replace(BARE, b=0, calls=0.7)) == [1, 3, 2]


def test_an_exact_quoted_phrase_counts_most() -> None:
    query = requested("winter tale", phrases=(("the", "winter", "tale"),))
    exact, close = candidate(1, "the winter tale x"), candidate(2, "winter tale the winter x")
    assert order(query, [close, exact], replace(BARE, phrases=2.0)) == [1, 2]
    assert order(query, [close, candidate(3, "x the winter"), candidate(4, "the winter")], replace(BARE, phrases=2.0))[0] == 2


def test_stop_words_do_not_make_a_phrase_rarer() -> None:
    found = [candidate(1, "the winter tale"), candidate(2, "winter tale")]
    candidates = Candidates(found, 1000, {"winter": 10, "tale": 10})
    weights = replace(BARE, b=0, phrases=2.0)
    longer = requested("winter tale", phrases=(("the", "winter", "tale"),))
    shorter = requested("winter tale", phrases=(("winter", "tale"),))
    scores = [{each.key: each.score for each in rank(query, candidates, weights)} for query in (longer, shorter)]
    assert scores[0][1] == scores[1][1]
    only_such = requested("winter tale", phrases=(("the",),))
    assert order(only_such, found, weights) == [1, 2]


def test_a_speaker_named_in_the_question_ranks_higher() -> None:
    query = requested("caroline camp", speakers=frozenset({"carolin"}), terms={"carolin": 1.0, "camp": 1.0})
    hers = candidate(1, "i went to camp yesterday", author="Caroline")
    called = candidate(2, "carolin how was your camp", author="Melanie")
    other = candidate(3, "i went to camp yesterday", author="Melanie")
    assert order(query, [hers, other, called]) == [1, 2, 3]
    plain = order(query, [hers, other, called], replace(DEFAULT, speaker=0))
    assert plain[0] == 2, "without it, whom is called is found"


def test_a_name_of_no_speaker_is_an_ordinary_term() -> None:
    query = requested("porto", speakers=frozenset({"porto"}))
    found = [candidate(1, "porto", author="Ann"), candidate(2, "x", author="Ann")]
    candidates = Candidates(found, 100, {"porto": 5})
    assert rank(query, candidates, BARE) == rank(query, candidates, replace(BARE, speaker=2.0))


def test_events_of_a_named_speaker_are_of_the_subject_whatever_their_length() -> None:
    query = requested("ann", speakers=frozenset({"ann"}))
    found = [candidate(1, "yes", author="Ann"), candidate(2, "x " * 30, author="Ann"), candidate(3, "no", author="Bo")]
    short, long, other = sorted(rank(query, Candidates(found, 100)), key=lambda each: each.key)
    assert short.score == long.score > other.score == 0
    assert short.relevance == long.relevance >= UNRELATED > other.relevance


def test_a_question_lifts_the_role_that_it_is_about() -> None:
    found = [candidate(1, "tea", role=1), candidate(2, "tea", role=2)]
    weights = replace(BARE, role=0.6)
    assert order(requested("tea", intent=Intent(role=1)), found, weights) == [1, 2]
    assert order(requested("tea", intent=Intent(role=2)), found, weights) == [2, 1]
    assert order(requested("tea", intent=Intent(role=1)), found, BARE) == [2, 1]


def test_a_question_for_a_number_lifts_what_has_one_outside_of_its_date() -> None:
    found = [
        candidate(1, "tea 5"),
        candidate(2, "tea x", fields={"dates": "2024"}),
        candidate(3, "tea", fields={"results": "7"}),
    ]
    weights = replace(BARE, b=0, number=0.3)
    assert order(requested("tea", intent=Intent(number=True)), found, weights) == [3, 1, 2]
    assert order(requested("tea"), found, weights) == [3, 2, 1]


def test_a_question_for_the_present_lifts_the_latest() -> None:
    found = [candidate(1, "tea", time=900), candidate(2, "tea", time=100), candidate(3, "tea", time=500)]
    weights = replace(BARE, present=0.4)
    assert order(requested("tea", intent=Intent(present=True)), found, weights) == [1, 3, 2]
    assert order(requested("tea"), found, weights) == [3, 2, 1]


def test_what_joins_without_a_term_does_not_change_what_late_means() -> None:
    found = [candidate(1, "tea", time=100), candidate(2, "tea", time=200)]
    joined = [*found, candidate(3, "x", time=0), candidate(4, "x", time=9_000)]
    weights, query = replace(BARE, present=0.7), requested("tea", intent=Intent(present=True))
    alone, among = ({each.key: each.score for each in rank(query, Candidates(some, 99), weights)} for some in (found, joined))
    assert among == pytest.approx({**alone, 3: 0.0, 4: 0.0})


@pytest.mark.parametrize("complete", [True, False])
def test_what_joins_without_a_term_does_not_change_how_rare_a_speaker_is(complete: bool) -> None:
    """If the candidates are not all that match, the share of the speaker among them says more than a count up to a limit."""
    found = [candidate(1, "tea", author="Ann"), candidate(2, "ann", author="Bo")]
    joined = [*found, *(candidate(key, "x", author="Cy") for key in range(3, 9))]
    query = requested("ann", speakers=frozenset({"ann"}))
    counted = {speaker_terms(["ann"])[0]: 40, "ann": 1}
    scores = [
        {
            each.key: each.score
            for each in rank(query, Candidates(some, 99, counted, complete=complete), replace(BARE, speaker=2))
        }
        for some in (found, joined)
    ]
    assert (scores[0][1] == pytest.approx(scores[1][1])) == complete
    assert scores[0][1] > scores[0][2] > 0


def test_the_event_behind_a_question_gets_a_share_of_it() -> None:
    asked = candidate(1, "tea", session=7, seq=5, fields={"dates": QUESTION})
    answer, far = candidate(2, "five x", session=7, seq=6), candidate(3, "six x", session=7, seq=7)
    before, other = candidate(4, "tea", session=8, seq=1), candidate(5, "three x", session=8, seq=2)
    weights = replace(BARE, answer=0.4, questions=0.2)
    scores = {
        each.key: each.score for each in rank(requested("tea"), Candidates([asked, answer, far, before, other], 99), weights)
    }
    assert scores[4] > scores[1] > scores[2] > scores[3] == scores[5] == 0


@pytest.mark.parametrize(
    ("text", "calls", "results", "is_question"),
    [("", "tea", "", True), ("tea", "tea", "", False), ("", "tea", "x", False), ("", "", "tea", False)],
)
def test_the_result_behind_a_call_without_a_text_gets_a_share_of_it(
    text: str, calls: str, results: str, is_question: bool
) -> None:
    called = candidate(1, text, session=7, seq=5, fields={"calls": calls, "results": results})
    result, far = (candidate(key, "", session=7, seq=4 + key, fields={"results": "five x"}) for key in (2, 3))
    found = Candidates([called, result, far], 99)
    scores = {each.key: each.score for each in rank(requested("tea"), found, replace(BARE, answer=0.4, questions=0.2))}
    plain = {each.key: each.score for each in rank(requested("tea"), found, BARE)}
    assert scores[2] == pytest.approx(0.4 * plain[1] * is_question)
    assert scores[1] == pytest.approx(plain[1] * (0.8 if is_question else 1.0))
    assert scores[3] == 0


def test_meaning_is_added_before_the_context() -> None:
    said, near = candidate(1, "tea", session=7, seq=1), candidate(2, "infusion", session=8, seq=1)
    behind = candidate(3, "yes", session=8, seq=2)
    weights = replace(BARE, meaning=0.5, neighbors=0.8)
    found = Candidates([said, near, behind], 99)
    scores = {each.key: each.score for each in rank(requested("tea"), found, weights, Meaning({2: 1.0}))}
    assert scores[1] == pytest.approx(1.0)
    assert scores[2] == pytest.approx(0.5)
    assert 0 < scores[3] < scores[2]
    assert [each.key for each in rank(requested("cake"), found, weights, Meaning({2: 1.0}))] == [2, 3, 1], (
        "without a word, by meaning"
    )


def test_a_likeness_in_spelling_adds_nothing_to_words_that_say_more() -> None:
    said, near, both = candidate(1, "tea cup", session=7), candidate(2, "infusion", session=8), candidate(3, "cup", session=9)
    found, likeness = Candidates([said, near, both], 99), Meaning({2: 0.3, 3: 0.2}, spelling=True)
    alone = {each.key: each.score for each in rank(requested("tea cup"), found, BARE)}
    scores = {each.key: each.score for each in rank(requested("tea cup"), found, replace(BARE, meaning=1.0), likeness)}
    assert scores == pytest.approx({1: 1.0, 2: 0.3, 3: alone[3] / alone[1]})


def test_what_joins_without_a_word_does_not_change_the_scores_of_words() -> None:
    found = [candidate(1, "tea", session=7), candidate(2, "tea x x x x x x", session=8)]
    joined = [candidate(3, "yes " * 90, session=9), candidate(4, "no", session=9, seq=2)]
    alone = rank(requested("tea"), Candidates(found, 99), BARE)
    assert rank(requested("tea"), Candidates([*found, *joined], 99), BARE)[:2] == alone


def test_what_a_message_gets_from_its_neighbor_counts_by_its_own_role() -> None:
    asked = candidate(1, "tea x", session=7, seq=2, role=1)
    before, behind = candidate(2, "green", session=7, seq=1, role=1), candidate(3, "black", session=7, seq=3, role=2)
    found = Candidates([asked, before, behind], 99)
    weights = replace(BARE, neighbors=0.4, behind=1.0, role=0.5)
    for role, first in ((1, 2), (2, 3)):
        query = replace(requested("tea"), intent=Intent(role))
        scores = {each.key: each.score for each in rank(query, found, weights)}
        assert scores[first] == pytest.approx(1.5 * scores[5 - first])


def test_events_of_the_time_in_the_question_rank_higher() -> None:
    query = requested("tea", spans=((100, 200), (900, 900)))
    found = [candidate(key, "tea", time=time) for key, time in ((1, 100), (2, 200), (3, 900), (4, 99), (5, 201))]
    assert order(query, found, replace(BARE, spans=1.0)) == [3, 2, 1, 5, 4]


def test_an_answer_is_found_by_its_question() -> None:
    question = candidate(1, "which kayak did you buy", session=7, seq=5)
    answer, far = candidate(2, "buy x x x", session=7, seq=6), candidate(4, "buy x x x", session=7, seq=9)
    elsewhere = candidate(5, "buy x x x", session=8, seq=6)
    weights = replace(BARE, neighbors=0.5)
    assert order(requested("kayak buy"), [far, elsewhere, answer, question], weights) == [1, 2, 5, 4]
    inserted = candidate(6, "buy x x x", session=7, seq=5.5)
    assert order(requested("kayak buy"), [far, inserted, question], weights)[:2] == [1, 6]


def test_words_that_only_a_neighbor_has_count_less_than_own_ones() -> None:
    texts = ["tea", "tea with milk and honey", "milk and honey", "milk"]
    found = [candidate(place, text, session=1, seq=place) for place, text in enumerate(texts[:3], 1)]
    lone = candidate(4, texts[3], session=2)
    assert order(requested("tea milk honey"), [*found, lone], replace(BARE, lacking=0.4))[:2] == [2, 3]
    assert order(requested("tea milk honey"), found)[0] == 2
    beside_tea = [candidate(1, "milk", session=1, seq=1), candidate(2, "tea honey", session=1, seq=2), lone]
    assert order(requested("tea milk honey"), beside_tea, replace(BARE, lacking=0.4)) == [2, 1, 4]
    assert order(requested("tea milk honey"), beside_tea, BARE) == [2, 4, 1]


def test_a_candidate_without_a_match_is_ranked_by_its_neighbors() -> None:
    strong, weak = candidate(1, "kayak", session=7, seq=5), candidate(2, "yes", session=7, seq=6)
    unrelated = candidate(3, "no", session=8, seq=6)
    ranked = rank(requested("kayak"), Candidates([strong, weak, unrelated], 100, {"kayak": 3}))
    scores = {each.key: each.score for each in ranked}
    assert scores[1] > scores[2] > scores[3] == 0


def test_a_session_with_good_candidates_lifts_all_of_its_own() -> None:
    good = [candidate(key, "kayak paddle", session=7, seq=key * 10) for key in (1, 2, 3)]
    inside, outside = candidate(4, "kayak x", session=7, seq=90), candidate(5, "kayak x", session=8, seq=90)
    assert order(requested("kayak paddle"), [*good, outside, inside], BARE)[-2:] == [5, 4]
    assert order(requested("kayak paddle"), [*good, outside, inside], replace(BARE, session=0.1))[-2:] == [4, 5]


def test_a_candidate_has_five_fields() -> None:
    broken = candidate(1, "tea")
    broken.words = "tea"
    with pytest.raises(ValueError, match="5 fields"):
        rank(requested("tea"), Candidates([broken], 1))


@pytest.mark.parametrize("weights", [DEFAULT, BARE, Weights(k1=1.2, b=1)])
def test_terms_of_any_script_are_counted(weights: Weights) -> None:
    found = [candidate(1, "京都 都へ へ引"), candidate(2, "東京 京へ へ引"), candidate(3, "crème ภา าษ 🎉")]
    for wanted, key in (("京都", 1), ("東京", 2), ("crème", 3), ("าษ", 3), ("🎉", 3)):
        assert order(requested(wanted), found, weights)[0] == key
