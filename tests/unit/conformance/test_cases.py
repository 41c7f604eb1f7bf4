"""Case files are checked before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance import cases, results

GOOD = """
area: big_area
cases:
  - name: A case, (quoted)!
    steps:
      - append: s1
        events: [{user: "x"}]
        expect: {events: [{seq: 1}]}
      - concurrently:
          - - pause_ms: 1
            - cut: true
          - - restart: kill
"""


def _read(folder: Path, **files: str) -> tuple[list[cases.Case], list[str]]:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return cases.read(folder)


def _one(step: str) -> str:
    return f"area: a\ncases:\n  - name: n\n    steps:\n      - pause_ms: 1\n      - {step}\n"


def test_a_case_has_an_id_and_numbered_steps(tmp_path: Path) -> None:
    (case,), problems = _read(tmp_path, one=GOOD)
    assert problems == []
    assert case.id == "big-area-a-case-quoted"
    assert [step.kind for step in case.steps] == ["append", "concurrently"]
    assert [step.number for each in case.steps[1].lists for step in each] == ["2.1.1", "2.1.2", "2.2.1"]
    assert case.steps[0].said["events"] == [{"user": "x"}]


def test_smoke_cases_are_first_and_the_others_by_file(tmp_path: Path) -> None:
    texts = {name: GOOD.replace("big_area", name) for name in ("b", "a", "smoke")}
    found, problems = _read(tmp_path, **texts)
    assert ([case.area for case in found], problems) == (["smoke", "a", "b"], [])


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("{apend: s1}", "a step has one of call, append"),
        ("{append: s1, call: x}", "a step has one of call, append"),
        ("{append: s1, event: []}", "unknown event; known are"),
        ("{append: s1}", "events must be given"),
        ("{append: s1, events: [{usr: x}]}", "a SessionEvent has no field 'usr'"),
        ("{append: s1, events: [{user: x}], expect: {results: []}}", "a AppendEventsResponse has no field 'results'"),
        ("{call: EventService/Get}", "no call 'EventService/Get'; there are"),
        ("{call: EventService/AppendStream}", "no call 'EventService/AppendStream'"),
        ("{call: EventService/GetEvent, request: {sesion: {}}}", "sesion: a GetEventRequest has no field"),
        ("{call: EventService/GetEvent, error: {status: X}}", "unknown status; known are code"),
        ("{call: EventService/GetEvent, save: {x: 'a..b'}}", "'a..b' is not a path"),
        ("{pages: EventService/GetEvent}", "no pages of 'EventService/GetEvent'"),
        ("{pages: EventService/ListEvents, items: [{sequence: 1}]}", "a SessionEvent has no field 'sequence'"),
        ("{context: s1, spec: {lastn: 1}}", "spec.lastn: a ContextSpec has no field"),
        ("{compact: s1, strategy: {window: {}}}", "strategy.window: a CompactionStrategy has no field"),
        ("{compact_context: s1, summary: x}", "of must be given"),
        ("{compact_context: s1, of: {sequence: 1}, summary: x}", "of.sequence: a GetContextResponse has no field"),
        ("{build: person}", "no builder 'person'; there are user"),
        ("{build: user, args: {txt: x}}", "unknown txt; known are author, text"),
        ("{watch: w, request: {session: {}, from_beginning: true}}", "a WatchSessionRequest has no field 'from_beginning'"),
        ("{watch: w, request: {after_seq: 1}}", "a WatchAllRequest has no field 'after_seq'"),
        ("{receive: w, changes: [{batches: {}}]}", r"changes\[0\].batches: a Change has no field"),
        ("{receive: w, changes: {}}", "changes must be a list"),
        ("{connect: c, via: proxy}", "via is one of server, gateway, embedding, guarded, not 'proxy'"),
        ("{gateway: [{rpc: EventService/Get}]}", "no RPC 'EventService/Get'"),
        ("{gateway: [{rpc: '*', fail: 1}]}", "unknown fail; known are after"),
        ("{gateway: [{times: 1}]}", "rpc must be given"),
        ("{restart: hup}", "restart is kill or term"),
        ("{restart: kill, via: gateway}", "via is one of embedding, guarded, not 'gateway'"),
        ("{concurrently: [[{pause: 1}]]}", ".1.1: a step has one of"),
    ],
)
def test_an_invalid_step_is_reported_with_file_case_and_step(tmp_path: Path, step: str, problem: str) -> None:
    found, problems = _read(tmp_path, bad=_one(step))
    assert found == []
    with pytest.raises(cases.CaseError, match=f"^bad.yaml, 'n': step 2.*{problem}"):
        cases.load(tmp_path)
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("area: a", "bad.yaml: cases must be given"),
        ("area: a\ncases: [{name: n}]", "bad.yaml, case 1: steps must be given"),
        ("area: a\ncases: [{name: n, steps: []}]", "bad.yaml, 'n': steps must be a list"),
        ("area: a\ncases: [{name: n, stepz: [], steps: []}]", "bad.yaml, case 1: unknown stepz"),
        ("area: a\narea: b\ncases: []", "'area' occurs twice"),
        ("area: [", "bad.yaml: while parsing"),
    ],
)
def test_an_invalid_case_file_is_reported(tmp_path: Path, text: str, problem: str) -> None:
    assert problem in "\n".join(_read(tmp_path, bad=text)[1])


def test_a_case_name_is_unique_within_an_area_across_files(tmp_path: Path) -> None:
    found, problems = _read(tmp_path, one=GOOD, two=GOOD)
    assert [case.file for case in found] == ["one.yaml"]
    assert problems == ["two.yaml, 'A case, (quoted)!': one.yaml has a case of this name in this area"]


def test_a_good_case_is_read_despite_a_bad_one(tmp_path: Path) -> None:
    found, problems = _read(tmp_path, good=GOOD, bad=_one("{apend: s1}"))
    assert ([case.file for case in found], len(problems)) == (["good.yaml"], 1)


def test_times_stay_texts(tmp_path: Path) -> None:
    (case,), _ = _read(tmp_path, one=_one("{call: EventService/GetEvent, expect: {event: {event_time: 2026-01-02T03:04:05Z}}}"))
    assert case.steps[1].said["expect"]["event"]["event_time"] == "2026-01-02T03:04:05Z"


def test_known_failures_with_an_unknown_case_or_language_are_rejected(tmp_path: Path) -> None:
    file = tmp_path / "known_failures.yaml"
    file.write_text("- {language: go, case: a-n, reason: why}\n- {language: rust, case: a-n, engine: sqlite, reason: because}")
    listed = results.load_known_failures({"a-n"}, file)
    assert results.known_reason(listed, "go", "postgresql", "a-n") == "why"
    assert results.known_reason(listed, "rust", "postgresql", "a-n") is None
    assert results.known_reason(listed, "rust", "sqlite", "a-n") == "because"
    with pytest.raises(ValueError, match="case a-n does not exist"):
        results.load_known_failures({"a-m"}, file)
    for entry in ("{language: c, case: a-n, reason: x}", "{language: go, case: a-n, reason: ''}"):
        file.write_text(f"- {entry}")
        with pytest.raises(ValueError, match="has an unknown language or engine, or no reason"):
            results.load_known_failures({"a-n"}, file)
