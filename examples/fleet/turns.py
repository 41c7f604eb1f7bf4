"""The agents of the fleets, and the turns that they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILT = ROOT / "build/integrations"


@dataclass(frozen=True, slots=True)
class Agent:
    """A program that takes one turn: its arguments are the server's address, the session, the question and the answer that
    the script of its model gives."""

    framework: str
    language: str
    command: Callable[[], list[str]]
    """Starts the program, when it is built."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A question, and the answer of the agent to it."""

    agent: Agent
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Fleet:
    """Agents that take turns in one session."""

    turns: Sequence[Turn]
    prints: bool = False
    """Each agent prints what it reads, and its turn is a question, a tool call, its result and an answer."""
    compacts_after: int = 0
    """A policy compacts after this turn; 0: never."""
    keeps: int = 0
    """How many turns the policy keeps."""
    kills: Mapping[int, float] = field(default_factory=dict)
    """When the server is killed: so many seconds after the program of a turn began; negative: before it begins."""

    @property
    def agents(self) -> set[Agent]:
        """Its agents."""
        return {turn.agent for turn in self.turns}

    def read_in(self, number: int, *, late: bool) -> range:
        """How many turns the agent of a turn reads. `late`: a kill may have put the compaction off until a later append."""
        before = number - 1
        if not self.compacts_after or before < self.compacts_after:
            return range(before, number)
        kept = before - (self.compacts_after - self.keeps)
        return range(self.keeps - 1, number) if late else range(kept, kept + 1)


def _python(name: str) -> list[str]:
    return [str(BUILT / "newest/bin/python"), str(HERE / f"fleet_{name}.py")]


def _typescript() -> list[str]:
    folder = ROOT / "client/typescript/integrations"
    (node,) = folder.glob("node_modules/node-*/bin/node")  # the AI SDK needs Node 22
    return [str(node), str(folder / "build/examples/fleet.js")]


def _java() -> list[str]:
    target = ROOT / "client/java/integrations/spring-ai-session/target"
    classes = [str(target / "test-classes"), str(target / "classes"), (target / "classpath").read_text()]
    brief = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
    return ["java", *brief, "-cp", ":".join(classes), "dev.threadkeep.spring.ai.FleetTurn"]


ADK_RS = Agent("adk-rs", "Rust", lambda: [str(ROOT / "client/rust/target/debug/examples/adk_rs_fleet")])
ADK = Agent("Google ADK", "Python", lambda: _python("adk"))
AI_SDK = Agent("AI SDK", "TypeScript", _typescript)
LANGCHAINGO = Agent("langchaingo", "Go", lambda: [str(BUILT / "go/langchaingo/fleet")])
LANGGRAPH = Agent("LangGraph", "Python", lambda: _python("langgraph"))
OPENAI_AGENTS = Agent("OpenAI Agents", "Python", lambda: _python("openai_agents"))
SPRING_AI = Agent("Spring AI", "Java", _java)

SMALL = Fleet(
    (
        Turn(ADK, "Plan a weekend in Lisbon.", "Saturday in Alfama, Sunday in Belém."),
        Turn(OPENAI_AGENTS, "Where do I sleep?", "Hotel Avenida, two nights."),
        Turn(LANGGRAPH, "What does it cost?", "480 euros with the flight."),
        Turn(AI_SDK, "Write it to my friend.", "Join me in Lisbon: Alfama, Belém, Hotel Avenida."),
        Turn(ADK, "When do we leave?", "The train leaves at nine."),
    )
)
"""Four frameworks in two languages."""
ALL = Fleet(
    (
        Turn(SPRING_AI, "How do I get to Lisbon?", "By the train at nine."),
        Turn(OPENAI_AGENTS, "Where do I sleep?", "Hotel Avenida, two nights."),
        Turn(LANGCHAINGO, "How do I get to the hotel?", "By tram 28."),
        Turn(ADK_RS, "What is there to see?", "The Gulbenkian, from ten."),
        Turn(AI_SDK, "Write it to Grace.", "Join me: the train at nine, Hotel Avenida, tram 28, the Gulbenkian."),
        Turn(OPENAI_AGENTS, "One more night, please.", "Three nights, then."),
        Turn(LANGCHAINGO, "And to the beach?", "Tram 15 goes along the river."),
        Turn(ADK_RS, "And on the third day?", "The garden of the Gulbenkian."),
        Turn(SPRING_AI, "When do I go home?", "On Monday at six."),
        Turn(AI_SDK, "Write Grace of the third night.", "We stay until Monday."),
    ),
    prints=True,
    compacts_after=8,
    keeps=5,
    kills={4: -1.0, 7: 0.3},
)
"""One framework in each language. When the policy has compacted, turns of all others are left to be read."""
