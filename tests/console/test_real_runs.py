"""The long form: 200 real runs of agents on every page, thousands of branches, and kills under a writer."""

from __future__ import annotations

import contextlib
import threading
import time

import pytest
from playwright.sync_api import Page, expect

import threadkeep
from tests.support.conversations import agent_runs
from tests.support.runs.thoroughness import LONG
from tests.support.servers.server_process import ServerProcess
from threadkeep import assistant, user

pytestmark = pytest.mark.skipif(not LONG, reason="it appends thousands of events and kills the server five times")

KILLS = 5
BRANCHES = 2_000


def test_every_page_shows_the_runs_of_tau_bench(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    runs = agent_runs()
    for number, run in enumerate(runs):
        ref = threadkeep.SessionRef(app="airline", user_id=f"user-{number % 10}", session_id=f"run-{number:03}")
        client.append(ref, *run, create_if_missing=True)
    console = f"http://{server.http_address}/console"
    page.goto(f"{console}/sessions?app=airline")
    expect(page.get_by_text(f"{len(runs)} sessions")).to_be_visible()
    for number in range(0, len(runs), 20):
        query = f"app=airline&user=user-{number % 10}&id=run-{number:03}"
        for view in ("session", "context"):
            page.goto(f"{console}/{view}?{query}&seq=1")
            expect(page.locator("[data-seq]").first).to_be_visible()
            expect(page.locator("[role=alert]")).to_have_count(0)
        page.goto(f"{console}/details?{query}")
        expect(page.get_by_label("Branches")).to_contain_text(str(len(runs[number])))
    page.goto(f"{console}/search?app=airline&user=user-0&q=reservation")
    expect(page.locator(".excerpt mark").first).to_be_visible()
    for path, shows in {"overview": ".numbers .value", "policies?app=airline": "main h2", "access": "main dl dd"}.items():
        page.goto(f"{console}/{path}")
        expect(page.locator(shows).first).to_be_visible()


def test_a_session_of_many_branches_is_shown(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    events = [assistant(f"On {number}", author=f"a{number % 7}", branch=f"team.b{number}") for number in range(BRANCHES)]
    client.append("branched", user("Begin."), *events[:900], create_if_missing=True)
    client.append("branched", *events[900:1_800])
    client.append("branched", *events[1_800:])
    query = "app=shop&user=alice&id=branched"
    page.goto(f"http://{server.http_address}/console/session?{query}")
    expect(page.get_by_text(f"On {BRANCHES - 1}", exact=True)).to_be_in_viewport()
    page.goto(f"http://{server.http_address}/console/details?{query}")
    expect(page.get_by_label("Branches").first).to_contain_text("team")


def test_kills_under_a_writer_lose_and_double_no_event(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    client.append("written", user("Event 1"), create_if_missing=True)
    page.goto(f"http://{server.http_address}/console/session?app=shop&user=alice&id=written")
    expect(page.locator(".live")).to_have_text("Live")
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            events = threadkeep.with_ids(user(f"Event at {time.monotonic()}"))
            while True:  # on PostgreSQL a start may outlast the client's attempts
                with contextlib.suppress(threadkeep.errors.Unavailable):
                    client.append("written", *events)
                    break
            time.sleep(0.05)

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(KILLS):
        page.wait_for_timeout(1_000)
        server.kill()
        server.start()
    page.wait_for_timeout(1_000)
    done.set()
    writer.join()
    last = client.get_session("written").last_seq
    expect(page.locator(f'[data-seq="{last}"]')).to_be_in_viewport()
    expect(page.locator(".live")).to_have_text("Live")
    expect(page.get_by_text(f"{last} events", exact=True)).to_be_visible()
    seqs = [int(each.get_attribute("data-seq") or 0) for each in page.locator("[data-seq]").all()]
    assert seqs == list(range(seqs[0], last + 1))
    stored = {each.seq: each.message.parts[0].text for each in client.events("written")}
    shown = page.locator("[data-seq] .markdown").all_inner_texts()
    assert shown == [stored[seq] for seq in seqs]
