"""The lines of the table, by the name that --only takes."""

from tests.bench.lines import (
    appends,
    auth,
    chat,
    encryption,
    flat,
    fronts,
    fsync,
    indexing,
    memory,
    neighbors,
    ranked,
    reads,
    replay,
    row_security,
    sdks,
    search,
    subscriptions,
    vectors,
    windows,
)
from tests.bench.lines.base import Measurement
from tests.bench.lines.sessions import forks
from tests.bench.lines.telemetry import costs

MEASUREMENTS: dict[str, Measurement] = {
    "unary": Measurement("unary appends of 1 KB, 64 in flight, compared with the echo", appends.unary),
    "fronts": Measurement("unary appends through each front end, by a load generator in Go", fronts.fronts),
    "create": Measurement("new sessions, 16 in flight, compared with appends", appends.create),
    "state": Measurement("appends that change state, compared with appends", appends.state),
    "batch": Measurement("appends of 100 events, compared with raw rows", appends.batch),
    "stream": Measurement("append streams with acks, compared with raw rows", appends.stream),
    "fsync": Measurement("unary appends when every fsync takes 1 ms longer", fsync.slow),
    "single": Measurement("latency of an append and of a read, one call in flight", reads.single),
    "last": Measurement("last 50 events, compared with an echo of the same bytes", reads.last),
    "flat": Measurement("cost of an append and of a read in short and long sessions", flat.flat),
    "pop": Measurement("popping an event of short and long windows, compared with an append", flat.pop),
    "list-sessions": Measurement("a page of few and of many sessions", flat.listed),
    "indexing": Measurement("unary appends while the indexer works", indexing.indexing),
    "search": Measurement("substring search of a user's events, compared with the scan", search.search),
    "ranked": Measurement("ranked search of a user's events, compared with bare FTS5 BM25", ranked.ranked),
    "vectors": Measurement("vector search, compared with the bare matrix product", vectors.vectors, ("sqlite",)),
    "context": Measurement("contexts of 50 events in short and long sessions", windows.context),
    "compaction": Measurement("compacting 1,000 events of short and long logs", windows.compaction),
    "fork": Measurement("copying short and long sessions, compared with raw rows", forks.fork),
    "neighbors": Measurement("appends while another session is compacted, deleted or searched", neighbors.neighbors),
    "abusers": Measurement("appends while another caller sends requests that cost the server much", neighbors.abusers),
    "telemetry": Measurement("unary appends with metrics and traces, compared with those without", costs.telemetry),
    "auth": Measurement("unary appends with credentials, compared with those without", auth.auth),
    "row_security": Measurement("row-level security, compared with none", row_security.row_security, ("postgres",)),
    "encryption": Measurement("events encrypted at rest, compared with plain ones", encryption.encryption),
    "trigger": Measurement("unary appends while a policy is looked at", windows.trigger),
    "summarising": Measurement("appends while a model takes 5 s to summarize their session", windows.summarizing),
    "fanout": Measurement(
        "appends to a session with 1 to 1,000 subscribers, compared with a bare fan-out", subscriptions.fanout
    ),
    "delivery": Measurement("latency from an append to its delivery, compared with an append", subscriptions.delivery),
    "replay": Measurement("catching up with the whole feed, compared with a bare stream", replay.replay),
    "idle": Measurement("memory of idle subscriptions, compared with idle bare streams", subscriptions.idle),
    "sdks": Measurement("each language's SDK, compared with its bare generated stubs", sdks.sdks, ("sqlite",)),
    "turns": Measurement("a turn through the agent kit, compared with the same calls made directly", chat.turns),
    "memory": Measurement("the server's memory: idle, while importing, while exporting", memory.memory),
}

__all__ = ["MEASUREMENTS", "Measurement"]
