// Texts of the overview.

import { whole } from "../components/numbers";
import { duration } from "../components/time";
import { plural } from "./plural";

export const overview = {
  title: "Overview",
  server: "The server",
  version: (version: string) => `Threadkeep ${version}`,
  numbers: {
    sessions: "Sessions",
    events: "Events",
    index: "Search index lag",
    embeddings: "Waiting for embeddings",
    tenant: "in this tenant",
    noTotals: "needs the role ops",
    indexHint: "change batches not indexed yet",
    noIndex: "no index: searches scan",
    embeddingsHint: "events and memories",
    noEmbedder: "no embedder",
  },
  charts: {
    title: "Right now",
    groups: { appends: "Appends", reads: "Reads", searches: "Searches" },
    measuring: "Measuring…",
    rate: (perSecond: number) => `${rate(perSecond)} per second`,
    idle: "no calls in the last minute",
    durations: (half: number, most: number) => `half within ${milliseconds(half)}, 95% within ${milliseconds(most)}`,
    rateLabel: (name: string, now: number, most: number) => `${name} per second since the page was opened: now ${rate(now)}, at most ${rate(most)}`,
    slowLabel: (name: string, most: number | undefined) => `Duration of ${name.toLowerCase()}: ${most === undefined ? "no calls" : `95% within ${milliseconds(most)}`}`,
    servers: (count: number) => `${count} servers answered, or one was started again: each point is of the one that answered.`,
    none: {
      elsewhere: "This port has no metrics: the setting admin_address has moved them to another one.",
      role: "Rates need a token with the role ops: metrics_need_role is on.",
      failed: "The metrics of the server cannot be read. The console tries again.",
    },
  },
  fleet: {
    title: "Servers",
    columns: ["Server", "State", "Version", "Started", "Last sign of life", "Metrics at"],
    answering: "(answers)",
    serves: "serves",
    gone: "gone",
  },
  findingsTitle: "What needs attention",
  fine: "Nothing is wrong.",
  findings: {
    plain: { words: "This page came without TLS.", advice: "Others on the network can read what is sent. Put a proxy with TLS in front, or set tls_certificate." },
    inMemory: { words: "The store is in RAM.", advice: "Everything is lost when the server stops. Set data_dir or database_url." },
    durability: (durability: string) => ({ words: `Commits are weaker than they could be: ${durability}.`, advice: "A power failure may lose the newest events." }),
    noIndex: { words: "There is no search index.", advice: "Searches read every event. They find the same, but slowly." },
    indexLag: (lag: bigint) => ({ words: `${plural(lag, "change batch", "change batches")} not indexed yet.`, advice: "Searches scan them and get slower. The server's log says why indexing is behind." }),
    embeddingLag: (count: bigint) => ({ words: `${whole(count)} events and memories have no embedding yet.`, advice: "Semantic searches do not find them. The server's log says why the embedder is behind." }),
    down: { words: "The database does not answer.", advice: "Nothing can be read or written until it does. The server's log has the cause." },
    stalled: (seconds: number) => ({ words: `Changes have not been delivered for ${duration(seconds * 1000)}.`, advice: "A transaction on PostgreSQL is open. The server's log names it; end it." }),
    tailLag: (count: number) => ({ words: `${plural(count, "change")} not delivered by this server yet.`, advice: "Subscribers see them late. If the number grows, the server or its database is overloaded." }),
    sweepHeld: { words: "Expired sessions are not deleted.", advice: "The clock of the server may be wrong. The server's log says how to continue." },
    auditLost: (count: number) => ({ words: `The audit log has lost ${plural(count, "record")}.`, advice: "Its disk failed or was too slow. The server's log has the cause." }),
    failedLogins: (count: number) => ({ words: `${plural(count, "login")} failed since the server started.`, advice: "A client has an old token, or somebody guesses. The server's log names the addresses." }),
    embeddingFailures: (count: number) => ({ words: `${plural(count, "request")} to the embedder failed since the server started.`, advice: "If embeddings wait as well, the embedder is down or refuses. The server's log has the cause." }),
    gone: (count: number) => ({ words: `${plural(count, "server")} of the fleet gave no sign of life for a minute.`, advice: "It crashed, or does not reach the database. It is forgotten an hour after its last sign." }),
    versions: { words: "The servers of the fleet have different versions.", advice: "During an upgrade this is as it should be; after it, a server was left out." },
    quota: (name: string) => ({ words: `A limit is almost reached: ${name}.`, advice: "Beyond it, calls are refused. The page Access has the numbers." }),
    noEmbedder: { words: "No embedder is configured.", advice: "Semantic searches are rejected, hybrid ones are ranked. Set embedder to have them." },
    noSummarizer: { words: "No summarizer is configured.", advice: "The strategy recursive summary is rejected. Set summarizer to have it." },
  },
  facts: {
    engine: "Engine",
    durability: "Durability",
    schema: "Schema version",
    store: "Store",
    counter: "Token counter",
    embedder: "Embedder",
    summarizer: "Summarizer",
    none: "none",
    event: "Largest event",
    batch: "Largest append",
    batchOf: (events: number, size: string) => `${plural(events, "event")}, ${size}`,
    ttl: "Sessions are kept",
    noTtl: "without limit",
    days: (count: number) => plural(count, "day"),
    capabilities: "Capabilities",
  },
} as const;

const rate = (perSecond: number) => (perSecond >= 100 ? whole(Math.round(perSecond)) : perSecond.toFixed(perSecond >= 10 || perSecond === 0 ? 0 : 1));
const milliseconds = (value: number) => (value < 10 ? `${value.toFixed(1)} ms` : duration(value));
