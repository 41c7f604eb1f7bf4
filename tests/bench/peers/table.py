"""The peers' results, as a table for eyes and as JSON."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tests.bench.peers.runner import OPERATIONS, Outcome
from tests.bench.report import PLAIN_WIDTH

HEADINGS = {"append": "append", "last": "last 50", "whole": "whole session"}


def merged(outcomes: Sequence[Outcome]) -> Outcome:
    """Threadkeep's own figures, taken before and after the peers."""
    first = next((outcome for outcome in outcomes if outcome.times), outcomes[0])
    keys = {key: None for outcome in outcomes for key in outcome.times}
    times = {key: statistics.mean(o.times[key] for o in outcomes if key in o.times) for key in keys}
    syncs = [outcome.syncs for outcome in outcomes if outcome.syncs is not None]
    error = next((outcome.error for outcome in outcomes if outcome.error), "")
    return replace(first, times=times, syncs=statistics.mean(syncs) if syncs else None, error=error)


def ratios(peer: Outcome, own: Outcome) -> list[dict[str, Any]]:
    """Threadkeep's time divided by the peer's: below 1 Threadkeep is ahead."""
    return [
        {"operation": operation, "events": length, "ratio": own.times[operation, length] / milliseconds}
        for (operation, length), milliseconds in peer.times.items()
        if (operation, length) in own.times
    ]


def _times(outcome: Outcome, operation: str, lengths: Sequence[int]) -> str:
    values = [outcome.times.get((operation, length)) for length in lengths]
    return " / ".join("-" if value is None else f"{value:,.2f}" if value < 10 else f"{value:,.0f}" for value in values)


def _compared(outcome: Outcome, own: Outcome, operation: str, lengths: Sequence[int]) -> Text:
    text = Text()
    for number, length in enumerate(lengths):
        mine, theirs = own.times.get((operation, length)), outcome.times.get((operation, length))
        text.append(" / " if number else "")
        if mine is None or theirs is None:
            text.append("-", "dim")
            continue
        style = "dim" if not outcome.peer.to_beat else "green" if mine <= theirs else "bold red"
        text.append(f"{mine / theirs:.2f}", style)
    return text


def show(console: Console, engine: str, own: Outcome, outcomes: Sequence[Outcome], lengths: Sequence[int]) -> None:
    """Prints one engine's table: milliseconds, and below them Threadkeep's time divided by the peer's."""
    if not console.is_terminal:
        console = Console(width=PLAIN_WIDTH)
    held = " / ".join(f"{length:,}" for length in lengths)
    table = Table(
        title=f"Threadkeep and other session stores on {engine}: ms per call in a session of {held} events; one call in flight",
        caption=(
            "Second row of each: Threadkeep's time ÷ the peer's; below 1 Threadkeep is ahead, network hop included.\n"
            "Durability: calls of fsync and fdatasync per append, counted while it ran, and how the store is configured."
        ),
        title_justify="left",
        caption_justify="left",
        header_style="bold",
        show_lines=True,
    )
    table.add_column("store")
    for operation in OPERATIONS:
        table.add_column(HEADINGS[operation], justify="right")
    table.add_column("bytes an event", justify="right")
    table.add_column("durability")
    for outcome in (own, *outcomes):
        name = Text(f"{outcome.peer.title} {outcome.version}".rstrip())
        if outcome.state:
            name.append(f"\n{outcome.state}", "red" if outcome.error else "yellow")
        cells = [Text(_times(outcome, operation, lengths) if outcome.times else "") for operation in OPERATIONS]
        if outcome is not own and outcome.times:
            for cell, operation in zip(cells, OPERATIONS, strict=True):
                cell.append("\n").append_text(_compared(outcome, own, operation, lengths))
        stored = " / ".join(f"{outcome.stored[length]:,.0f}" if length in outcome.stored else "-" for length in lengths)
        stored = stored if outcome.stored else ""
        table.add_row(name, *cells, stored, Text(outcome.durability))
    console.print(table)
    for outcome in (own, *outcomes):
        if outcome.state:
            reason = outcome.error.strip() or outcome.skipped or outcome.note
            console.print(f"{outcome.state}: {outcome.peer.title}: {reason}", style="dim", markup=False, highlight=False)


def show_adapters(console: Console, outcomes: Sequence[Outcome]) -> None:
    """Prints the time of each of our adapters, divided by the time of the store that it replaces."""
    by_name = {outcome.peer.name: outcome for outcome in outcomes}
    for outcome in outcomes:
        store = by_name.get(outcome.peer.replaces)
        if store is None or not (outcome.times and store.times):
            continue
        found = [
            f"{HEADINGS[operation]} "
            + _compared(store, outcome, operation, [n for o, n in store.times if o == operation]).plain
            for operation in OPERATIONS
        ]
        console.print(f"{outcome.peer.title} ÷ {store.peer.title}: {', '.join(found)}", highlight=False)


def entry(outcome: Outcome, own: Outcome, outcomes: Sequence[Outcome] = ()) -> dict[str, Any]:
    """An outcome for machines. `outcomes`: those of its engine, among which an adapter finds the store that it replaces."""
    compared = ratios(outcome, own)
    replaced = next((each for each in outcomes if each.peer.name == outcome.peer.replaces), None)
    return {
        "store": outcome.peer.title,
        "engine": outcome.engine,
        "version": outcome.version,
        "to_beat": outcome.peer.to_beat,
        "skipped": outcome.skipped,
        "error": outcome.error,
        "note": outcome.note,
        "durability": {"fsyncs_per_append": outcome.syncs, "setting": outcome.setting, "text": outcome.durability},
        "milliseconds": [{"operation": o, "events": n, "ms": ms} for (o, n), ms in outcome.times.items()],
        "bytes_per_event": outcome.stored,
        "threadkeep_divided_by_peer": compared,
        "adapter_divided_by_store": [] if replaced is None else ratios(replaced, outcome),
        "threadkeep_ahead": all(ratio["ratio"] <= 1 for ratio in compared) if compared and outcome.peer.to_beat else None,
    }


def write(path: Path, entries: Sequence[dict[str, Any]], facts: dict[str, Any]) -> None:
    """Writes the results for machines."""
    path.write_text(json.dumps({"run": facts, "stores": list(entries)}, indent=2, ensure_ascii=False) + "\n")
