"""`make pictures-console`: pictures of every page, light and dark, for the documentation."""

from __future__ import annotations

import argparse
import base64
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event, Thread

from playwright.sync_api import Page, expect, sync_playwright

import threadkeep
from tests.console import views
from tests.console.browsers import chromium
from tests.support.servers.server_process import ServerProcess, fork_server, free_port
from threadkeep import assistant, user

FOLDER = Path(__file__).parents[2] / "docs" / "images" / "console"
SIZES = {"": (1200, 760), "-phone": (390, 780)}
PHONE = frozenset({"sessions", "session", "context"})
"""Views that also have a picture of the width of a phone."""
LEFT_OUT = frozenset({"no-page", "no-session"})
PEOPLE = ("ann", "bo", "chidi", "dana", "emre", "finn", "gita")
ASKED = (
    "Can I return the lamp?",
    "Which bulb fits?",
    "Change my address, please.",
    "Is the chair in stock?",
    "Cancel order 12.",
)


def fill(server: ServerProcess) -> None:
    """Writes some days of a shop: sessions of several users, a consumer that parks a change, and the session of the views."""
    with threadkeep.Client(server.address, app=views.APP, user_id=views.USER) as client:
        for number in range(28):
            owner = PEOPLE[number % len(PEOPLE)]
            ref = threadkeep.SessionRef(app=views.APP, user_id=owner, session_id=f"chat-{1_000 + 37 * number}")
            turns = [user(ASKED[number % len(ASKED)]), assistant("I look that up for you.", author="planner")] * (
                1 + number % 4
            )
            client.append(ref, *turns, create_if_missing=True)
        stop = Event()

        def park(delivery: threadkeep.Delivery) -> None:
            if delivery.change.HasField("batch"):
                stop.set()
                raise threadkeep.Park("the index of orders refused it: no such order")

        run = {"user_id": "ann", "from_beginning": True, "partitions": 2, "stop": stop}
        member = Thread(target=client.consumer("order-indexer").run, args=(park,), kwargs=run)
        member.start()
        member.join(timeout=30)
        views.tell(client)


def happen(server: ServerProcess) -> None:
    """Commits some changes."""
    with threadkeep.Client(server.address, app=views.APP, user_id="ann") as client:
        for number, asked in enumerate(ASKED):
            client.append(f"call-{number}", user(asked), create_if_missing=True)
            client.append(f"call-{number}", assistant("I look that up for you.", author="planner"))


def shoot(page: Page, url: str, view: views.View, folder: Path, name: str, form: str, happen: Callable[[], None]) -> None:
    page.goto(f"{url}{view.path}")
    expect(page.locator("main [data-seq], main [role=row]" if "phone" in name else view.shows).first).to_be_visible()
    for _ in range(40 if view.name == "overview" else 0):  # its charts need calls
        happen()
        page.wait_for_timeout(400)
    expect(page.get_by_text("Measuring")).to_have_count(0)
    if view.name == "changes":
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        happen()
        page.locator(".change").first.wait_for()
    page.wait_for_timeout(500)  # what comes in after it
    taken = page.context.new_cdp_session(page).send("Page.captureScreenshot", {"format": form, "quality": 80})
    (folder / f"{view.name}{name}.{form}").write_bytes(base64.b64decode(taken["data"]))


def main() -> None:
    parser = argparse.ArgumentParser(prog="make pictures-console", description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--format", choices=("webp", "png"), default="webp")
    parser.add_argument("--only", nargs="*", default=[], help="names of views")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as scratch,
        ServerProcess(
            fork_server(),
            Path(scratch),
            http_address=f"127.0.0.1:{free_port()}",
            embedder="hashing",
            audit_log=str(Path(scratch, "audit.log")),
        ) as server,
        sync_playwright() as playwright,
        chromium(playwright) as browser,
    ):
        server.start()
        fill(server)
        url = f"http://{server.http_address}/console/"
        for scheme in ("light", "dark"):
            for size, (width, height) in SIZES.items():
                context = browser.new_context(
                    viewport={"width": width, "height": height}, color_scheme="dark" if scheme == "dark" else "light"
                )
                page = context.new_page()
                for view in views.VIEWS:
                    if (
                        view.name in LEFT_OUT
                        or (given.only and view.name not in given.only)
                        or (size and view.name not in PHONE)
                    ):
                        continue
                    shoot(page, url, view, given.folder, f"{size}-{scheme}", given.format, partial(happen, server))
                context.close()


if __name__ == "__main__":
    main()
