"""A session of more events than the virtualizer has rows: every place is reached, and stays."""

from __future__ import annotations

from playwright.sync_api import Page, expect

import threadkeep
from tests.support.servers.server_process import ServerProcess
from threadkeep import SessionEvent, user

COUNT = 5_000
TALLEST = 17_895_697
"""Pixels of an element, at most, in Firefox."""


def line(number: int) -> SessionEvent:
    """A line of one to three lines, so that rows differ in height."""
    return user(f"Line {number}" + "\nmore" * (number % 3))


def scroll(page: Page, top: str) -> None:
    """Scrolls as a reader does, and waits until the page shows it."""
    page.locator(".timeline > .scroller").evaluate(
        f"""async (it) => {{
            it.dispatchEvent(new WheelEvent("wheel", {{ bubbles: true }}));
            it.scrollTop = {top};
            for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
        }}"""
    )


def first_seq(page: Page) -> int:
    """Returns the seq of the event at the upper edge."""
    found = page.evaluate("""() => {
        const edge = document.querySelector(".timeline > .scroller").getBoundingClientRect().top;
        const isBelow = (it) => it.getBoundingClientRect().bottom > edge + 1;
        return Math.min(...[...document.querySelectorAll("[data-seq]")].filter(isBelow).map((it) => Number(it.dataset.seq)));
    }""")
    return int(found)


def test_every_place_of_a_long_session_is_reached(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    for first in range(1, COUNT + 1, 1_000):
        client.append("longest", *[line(number) for number in range(first, first + 1_000)], create_if_missing=True)
    page.goto(f"http://{server.http_address}/console/session?app=shop&user=alice&id=longest")
    expect(page.locator(f'[data-seq="{COUNT}"]')).to_be_in_viewport()
    for share in (0.5, 0.1, 0.9, 0.3):
        scroll(page, f"it.scrollHeight * {share}")
        expect(page.locator(".event.pending")).to_have_count(0)
        expect(page.locator("[data-seq]").first).to_be_visible()
        assert abs(first_seq(page) - share * COUNT) < 0.05 * COUNT, "the scrollbar is proportional"
    scroll(page, "0")
    expect(page.locator('[data-seq="1"]')).to_be_in_viewport()
    for seq in (4_321, 12, 2_750):
        page.get_by_label("Go to seq").fill(str(seq))
        page.get_by_label("Go to seq").press("Enter")
        expect(page.locator(f'[data-seq="{seq}"]')).to_be_in_viewport()
    client.append("longest", user("One more"))
    page.get_by_role("button", name="1 new event").click()
    expect(page.get_by_text("One more")).to_be_in_viewport()
    seqs = [int(found.get_attribute("data-seq") or 0) for found in page.locator("[data-seq]").all()]
    assert seqs == sorted(set(seqs)), "no event is there twice"


def test_steps_of_a_wheel_through_windows_lose_no_place(page: Page, server: ServerProcess, client: threadkeep.Client) -> None:
    """The rows around the reader become others several times; the event at the edge moves as far as the wheel does."""
    page.goto(f"http://{server.http_address}/console/session?app=shop&user=alice&id=longest&seq=3000")
    expect(page.locator('[data-seq="3000"]')).to_be_in_viewport()
    before = 3_000
    for _ in range(12):
        scroll(page, "it.scrollTop - 5_000")
        expect(page.locator("[data-seq]").first).to_be_visible()
        now = first_seq(page)
        assert 20 < before - now < 120, (before, now)
        before = now
