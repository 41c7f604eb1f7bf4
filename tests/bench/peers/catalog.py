"""The session stores that Threadkeep is compared with."""

from dataclasses import dataclass

SHARED = ("sqlalchemy[asyncio]", "aiosqlite", "asyncpg")
_SQUARE = "every checkpoint may hold the whole state, so what is stored grows with the square of the length"
AGENTS = ("openai-agents[sqlalchemy]", *SHARED)


@dataclass(frozen=True)
class Peer:
    """A session store: how to install it, what runs it, and where it keeps its data."""

    name: str
    title: str
    script: str
    # What the script needs, tried in order; the first set that installs is used. Empty: our own environment.
    requirements: tuple[tuple[str, ...], ...] = ()
    # With a server the peer keeps its data in files of its own, and is compared with Threadkeep on SQLite.
    engines: tuple[str, ...] = ("sqlite", "postgres")
    # Lengths beyond this are left out, for the reason given.
    longest: int | None = None
    reason: str = ""
    # Shown, but nothing a server of sessions is to beat: a library that writes a file from within the agent's process, or a
    # general store of streams, which has no sessions, contexts or searches.
    reference: bool = False
    # The server that the script talks to: a name in `servers.py`. Empty: a library.
    server: str = ""
    # For Threadkeep: with the background search index, as by default.
    index: bool = True
    # One of our adapters, by its module's name, and the store of its framework that it replaces.
    adapter: str = ""
    replaces: str = ""

    @property
    def own(self) -> bool:
        """Whether this is Threadkeep."""
        return self.name.startswith("threadkeep")

    @property
    def to_beat(self) -> bool:
        """Whether Threadkeep is meant to be ahead of it."""
        return not self.own and not self.reference


THREADKEEP = Peer("threadkeep", "Threadkeep over gRPC", "peer_threadkeep.py")
THREADKEEP_PLAIN = Peer("threadkeep-plain", "Threadkeep over gRPC, search index off", "peer_threadkeep.py", index=False)

ADAPTERS = tuple(
    Peer(
        f"threadkeep-{name}",
        f"Threadkeep through the adapter for {name}",
        script,
        adapter=adapter,
        replaces=name,
        longest=longest,
        reason=reason,
    )
    for name, script, adapter, longest, reason in (
        ("adk", "peer_adk.py", "adk", None, ""),
        ("agents-sql", "peer_agents_sqlalchemy.py", "openai_agents", None, ""),
        ("langgraph", "peer_langgraph.py", "langgraph", 1000, _SQUARE),
    )
)
"""Their scripts are those of what they replace, with our store in its place."""
LIBRARIES = (
    Peer(
        "adk",
        "google-adk DatabaseSessionService",
        "peer_adk.py",
        # A newer OpenTelemetry makes resolvers fall back to an old google-adk without a word.
        (("google-adk==2.13.*", "opentelemetry-api==1.44.0", "opentelemetry-sdk==1.44.0", *SHARED), ("google-adk", *SHARED)),
    ),
    Peer("agents-sql", "openai-agents SQLAlchemySession", "peer_agents_sqlalchemy.py", (AGENTS,)),
    Peer(
        "agents-sqlite",
        "openai-agents SQLiteSession (in process)",
        "peer_agents_sqlite.py",
        (AGENTS,),
        engines=("sqlite",),
        reference=True,
    ),
    Peer(
        "langgraph",
        "langgraph checkpoint saver",
        "peer_langgraph.py",
        (("langgraph", "langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres", "psycopg[binary]"),),
        longest=1000,
        reason=_SQUARE,
    ),
)
_REDIS = (("redis[hiredis]",),)
SERVERS = (
    Peer(
        "memory-service",
        "memory-service over REST, SQLite synchronous=FULL",
        "peer_memory_service.py",
        engines=("sqlite",),
        server="memory-service",
    ),
    Peer(
        "redis",
        "Redis streams, appendfsync always",
        "peer_redis.py",
        _REDIS,
        engines=("sqlite",),
        reference=True,
        server="redis-always",
    ),
    Peer(
        "redis-everysec",
        "Redis streams, appendfsync everysec (the default)",
        "peer_redis.py",
        _REDIS,
        engines=("sqlite",),
        reference=True,
        server="redis-everysec",
    ),
    Peer(
        "kurrentdb",
        "KurrentDB over gRPC",
        "peer_kurrentdb.py",
        (("kurrentdbclient",),),
        engines=("sqlite",),
        reference=True,
        server="kurrentdb",
    ),
)
PEERS = (*LIBRARIES, *ADAPTERS, *SERVERS)
