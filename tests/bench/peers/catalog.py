"""The session stores that Threadkeep is compared with."""

from dataclasses import dataclass

SHARED = ("sqlalchemy[asyncio]", "aiosqlite", "asyncpg")
AGENTS = ("openai-agents[sqlalchemy]", *SHARED)


@dataclass(frozen=True)
class Peer:
    """A session store: how to install it, what runs it, and where it keeps its data."""

    name: str
    title: str
    script: str
    # Tried in order; the first set of requirements that installs is used. Empty: our own environment.
    requirements: tuple[tuple[str, ...], ...]
    engines: tuple[str, ...] = ("sqlite", "postgres")
    # Lengths beyond this are left out, for the reason given.
    longest: int | None = None
    reason: str = ""
    # A library that writes a file from within the agent's process: shown, but nothing a server is to beat.
    in_process: bool = False
    # For Threadkeep: with the background search index, as by default.
    index: bool = True

    @property
    def to_beat(self) -> bool:
        """Whether Threadkeep is meant to be ahead of it."""
        return bool(self.requirements) and not self.in_process


THREADKEEP = Peer("threadkeep", "Threadkeep over gRPC", "peer_threadkeep.py", ())
THREADKEEP_PLAIN = Peer("threadkeep-plain", "Threadkeep over gRPC, search index off", "peer_threadkeep.py", (), index=False)

PEERS = (
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
        in_process=True,
    ),
    Peer(
        "langgraph",
        "langgraph checkpoint saver",
        "peer_langgraph.py",
        (("langgraph", "langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres", "psycopg[binary]"),),
        longest=1000,
        reason="every checkpoint may hold the whole state, so what is stored grows with the square of the length",
    ),
)
