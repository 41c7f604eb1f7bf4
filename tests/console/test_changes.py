"""The feed, and consumers with their parked changes."""

from __future__ import annotations

from threading import Event, Thread

from playwright.sync_api import Page, expect

import threadkeep
from tests.support.servers.server_process import ServerProcess
from threadkeep import user


def test_the_feed_shows_changes_as_they_are_committed(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    page.goto(f"http://{server.http_address}/console/changes?app=shop")
    expect(page.get_by_text("Waiting for changes")).to_be_visible()
    expect(page.locator(".live")).to_have_text("Live")
    client.append("fed", user("Shown <i>at once</i>"), create_if_missing=True)
    row = page.locator(".change", has_text="Shown <i>at once</i>")
    expect(row).to_be_visible()
    page.get_by_role("switch").check()
    client.append("fed", user("Shown later"))
    expect(page.get_by_text("Paused: 1 change waiting")).to_be_visible()
    page.get_by_role("switch").uncheck()
    expect(page.get_by_text("Shown later")).to_be_visible()
    row.get_by_role("link", name="fed").click()
    expect(page.locator('[data-seq="1"]')).to_be_in_viewport()


def test_parked_changes_are_replayed_and_discarded(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    def handle(delivery: threadkeep.Delivery) -> None:
        raise threadkeep.Park(f"cannot be indexed, attempt {delivery.attempt}")

    ref = threadkeep.SessionRef(app="shop", user_id="parker", session_id="parked")
    client.append(ref, user("Poison"), create_if_missing=True)
    stop = Event()
    consumer = client.consumer("indexer")
    run = {"user_id": "parker", "from_beginning": True, "partitions": 2, "stop": stop}
    member = Thread(target=consumer.run, args=(handle,), kwargs=run)
    member.start()
    page.goto(f"http://{server.http_address}/console/changes?show=consumers&consumer=indexer")
    expect(page.get_by_text("cannot be indexed").first).to_be_visible()
    expect(page.locator(".partitions li")).to_have_count(2)
    stop.set()
    member.join()
    page.get_by_role("button", name="Replay").first.click()
    expect(page.get_by_role("status")).to_contain_text("will be delivered again.")
    page.get_by_role("button", name="Discard", exact=True).first.click()
    page.get_by_role("button", name="Discard for good").click()
    expect(page.get_by_role("status")).to_contain_text("discarded.")
