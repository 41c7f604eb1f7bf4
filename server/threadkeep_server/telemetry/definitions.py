"""Every metric of the server. docs/operations/observability.md has the same table; a test compares them."""

from __future__ import annotations

from typing import Final

from .instruments import DURATIONS, SIZES, Definition, Kind


def _counter(name: str, text: str, *labels: str, unit: str = "", omitted: str = "") -> Definition:
    return Definition(name, Kind.COUNTER, text, unit, labels, omitted=omitted)


def _gauge(name: str, text: str, *labels: str, unit: str = "", omitted: str = "") -> Definition:
    return Definition(name, Kind.GAUGE, text, unit, labels, omitted=omitted)


def _durations(name: str, text: str, *labels: str, omitted: str = "") -> Definition:
    return Definition(name, Kind.HISTOGRAM, text, "s", labels, DURATIONS, omitted)


_NO_DATABASE: Final = "while the database does not respond"
_NO_POLICIES: Final = "without retention policies"
_NO_EMBEDDER: Final = "without an embedder"
_NO_RERANKER: Final = "without a reranker"

UP: Final = _gauge("threadkeep.up", "1 if the database responds.")
START_TIME: Final = _gauge("threadkeep.start_time", "Time at which the server started, in seconds since 1970.", unit="s")

BUILD_INFO: Final = _gauge(
    "threadkeep.build_info", "1, with the versions of the server, of Python and of the database.", "version", "python", "engine"
)
LOOP_DELAY: Final = _durations(
    "threadkeep.event_loop.delay",
    "How much later than due the event loop ran a timer, twice a second. Where it is long, every call waits.",
)
CONNECTIONS: Final = _gauge(
    "threadkeep.open_connections",
    "Open connections of clients, by `port`: `grpc`, `http`, `admin`.",
    "port",
    omitted="on systems without `/proc`",
)

RPC_DURATION: Final = _durations(
    "rpc.server.duration",
    "How long calls took on this server, by RPC and code, failed and refused ones as well. Streams are left out.",
    "rpc.service",
    "rpc.method",
    "rpc.response.status_code",
)
RPC_STREAMS: Final = _counter(
    "threadkeep.rpc.streams",
    "Streams that ended, by RPC and code.",
    "rpc.service",
    "rpc.method",
    "rpc.response.status_code",
)
CALL_DURATION: Final = _durations(
    "threadkeep.call.duration", "The same durations by `rpc` alone, which the console shows.", "rpc"
)
LIMITED: Final = _counter(
    "threadkeep.limited_calls", "Calls that a rate limit, a quota or another limit of the server refused, by limit.", "limit"
)
CALLS_IN_FLIGHT: Final = _gauge("threadkeep.calls_in_flight", "Calls that have not ended; see `max_calls`.")

APPEND_DURATION: Final = _durations(
    "threadkeep.append.duration", "How long accepted appends took in the store, from their arrival until they were committed."
)
COMMIT_DURATION: Final = _durations(
    "threadkeep.commit.duration", "How long group commits took, each for the writes of several callers."
)
COMMIT_SIZE: Final = Definition("threadkeep.commit.group_size", Kind.HISTOGRAM, "Writes in a group commit.", bounds=SIZES)
COMMIT_FAILURES: Final = _counter(
    "threadkeep.commit.failures", "Group commits that failed because the database did; their callers got UNAVAILABLE."
)
APPEND_CONFLICTS: Final = _counter(
    "threadkeep.append.conflicts",
    "Appends that were refused: another version of the session than expected, or another event with the same id.",
    "reason",
)
APPEND_REPLAYS: Final = _counter("threadkeep.append.replays", "Events of appends that were stored already, as after a retry.")
EVENTS: Final = _counter("threadkeep.appended.events", "Events that were appended.")
APPENDED: Final = _counter("threadkeep.appended", "Bytes of appends, as they were sent.", unit="By")
SESSIONS_CREATED: Final = _counter("threadkeep.sessions.created", "Sessions that were created, by appends as well.")
SESSIONS_DELETED: Final = _counter("threadkeep.sessions.deleted", "Sessions that were deleted by callers, or expired.")
COMPACTIONS: Final = _counter("threadkeep.compactions", "Compactions that were applied, by policies as well.")
POOL: Final = _gauge(
    "threadkeep.database.connections",
    "Connections to the database, or for reading on SQLite: `used` now, and the `most` there may be.",
    "state",
    omitted="with `memory://`",
)
STORED: Final = _gauge(
    "threadkeep.database.stored",
    "Size of the database in bytes, with indexes; on SQLite of its files.",
    unit="By",
    omitted="with `memory://`, and while the database does not respond",
)

FEED_HEAD: Final = _gauge("threadkeep.feed_head", "Number of the last change that can be delivered.", omitted=_NO_DATABASE)
FEED_UNSETTLED: Final = _gauge(
    "threadkeep.feed_unsettled_changes",
    "Committed changes that cannot be delivered yet, because an earlier one in feed order may still be committed. If the value "
    "grows, a transaction is open on PostgreSQL (`pg_stat_activity`, by `xact_start`) and delays every subscriber.",
    omitted=_NO_DATABASE,
)
FEED_STALLED: Final = _gauge(
    "threadkeep.feed_stalled",
    "For how long changes have not been delivered because of an open transaction on PostgreSQL; 0 below `feed_stall_alarm`. "
    "The log names the transaction.",
    unit="s",
)
FEED_OLDEST: Final = _gauge(
    "threadkeep.feed_oldest_change_age",
    "Age of the oldest stored change. If it is well above `feed_retention`, trimming does not keep up.",
    unit="s",
    omitted=_NO_DATABASE,
)
FEED_TAIL_LAG: Final = _gauge(
    "threadkeep.feed_tail_lag_changes",
    "Approximate number of deliverable changes that this server has not read yet.",
    omitted="while there are no subscriptions",
)
SUBSCRIPTIONS: Final = _gauge(
    "threadkeep.subscriptions", "Subscriptions on this server: `live`, or `catching_up` from the log.", "state"
)
FELL_BEHIND: Final = _counter(
    "threadkeep.subscription_fell_behind", "Number of times that a live subscription was too slow and continued from the log."
)
SUBSCRIPTION_CHANNELS: Final = _gauge(
    "threadkeep.subscription_channels",
    "Distinct scopes and filters of the subscriptions on this server: a change is encoded once for each.",
)
SUBSCRIPTION_KEPT: Final = _gauge(
    "threadkeep.subscription_kept", "Bytes of messages buffered for live subscriptions.", unit="By"
)
CONSUMER_MEMBERS: Final = _gauge("threadkeep.consumer_members", "Consumer members on this server.")

INDEX_LAG: Final = _gauge(
    "threadkeep.search_index_lag_batches", "Changes that are not in the search index yet.", omitted="without an index"
)
EMBEDDING_WAITING: Final = _gauge(
    "threadkeep.embedding_waiting",
    "Events and memories without an embedding, as last counted by this server.",
    omitted=_NO_EMBEDDER,
)
EMBEDDING_FAILURES: Final = _counter(
    "threadkeep.embedding_failures", "Requests for which the embedder returned no vectors.", omitted=_NO_EMBEDDER
)
RERANKER_SEARCHES: Final = _counter(
    "threadkeep.reranker_searches", "Searches with hits for the reranker.", omitted=_NO_RERANKER
)
RERANKER_FAILURES: Final = _counter(
    "threadkeep.reranker_failures",
    "Those that were answered without it, since it failed or did not answer in time.",
    omitted=_NO_RERANKER,
)

SEARCH_DURATION: Final = _durations(
    "threadkeep.search.duration",
    "How long searches took, by what they search and how: `substring`, `ranked`, `semantic`, `hybrid`.",
    "of",
    "mode",
)
PROVIDER_DURATION: Final = _durations(
    "threadkeep.provider.duration",
    "How long calls of the `embedder`, the `reranker`, the `summarizer` and of `webhook`s took, with their retries, by "
    "outcome: `ok`, `failed`.",
    "provider",
    "outcome",
    omitted="without one",
)

WEBHOOK_PLANS: Final = _counter("threadkeep.compaction_webhook_plans", "Plans that this server requested from webhooks.")
WEBHOOK_FAILURES: Final = _counter(
    "threadkeep.compaction_webhook_failures", "Those that it did not receive, or that were not valid."
)
REQUESTS_WAITING: Final = _gauge(
    "threadkeep.compaction_requests_waiting",
    "Sessions whose compaction was requested from a consumer less than `compaction_answer_time` ago.",
)
REQUESTS_UNANSWERED: Final = _counter(
    "threadkeep.compaction_requests_unanswered",
    "Sessions that no consumer compacted within that time, although their policy left it to one.",
)
SWEEP_HELD: Final = _gauge("threadkeep.sweep_held", "1 while expired sessions are kept because the clock may be wrong.")
RETENTION_SESSIONS: Final = _counter(
    "threadkeep.retention.sessions",
    "Sessions that retention policies selected, by what this server did with them: `archived`, `deleted`, `changed`, `failed`.",
    "outcome",
    omitted=_NO_POLICIES,
)
RETENTION_RUNS: Final = _counter(
    "threadkeep.retention.runs",
    "Runs of the retention policies in the background of this server: `done`, `failed`, and `held`: the clock may be wrong.",
    "outcome",
    omitted=_NO_POLICIES,
)
RETENTION_SUCCESS: Final = _gauge(
    "threadkeep.retention.last_success",
    "Time of the last of these runs that was done, in seconds since 1970; at first that of the start. One server runs the "
    "policies at a time: take the maximum.",
    unit="s",
    omitted=_NO_POLICIES,
)
AUDIT_LOST: Final = _counter(
    "threadkeep.audit_lost_records",
    "Records that the audit log lost, because its disk failed or was too slow.",
    omitted="without an audit log",
)
FAILED_LOGINS: Final = _counter(
    "threadkeep.failed_logins",
    "Calls with a credential that was not accepted, on this server.",
    omitted="without authentication",
)
