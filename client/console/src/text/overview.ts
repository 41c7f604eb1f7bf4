// Texts of the overview.

import { whole } from "../components/numbers";
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
  findingsTitle: "What needs attention",
  fine: "Nothing is wrong.",
  findings: {
    plain: { words: "This page came without TLS.", advice: "Others on the network can read what is sent. Put a proxy with TLS in front, or set tls_certificate." },
    inMemory: { words: "The store is in RAM.", advice: "Everything is lost when the server stops. Set data_dir or database_url." },
    durability: (durability: string) => ({ words: `Commits are weaker than they could be: ${durability}.`, advice: "A power failure may lose the newest events." }),
    noIndex: { words: "There is no search index.", advice: "Searches read every event. They find the same, but slowly." },
    indexLag: (lag: bigint) => ({ words: `${plural(lag, "change batch", "change batches")} not indexed yet.`, advice: "Searches scan them and get slower. The server's log says why indexing is behind." }),
    embeddingLag: (count: bigint) => ({ words: `${whole(count)} events and memories have no embedding yet.`, advice: "Semantic searches do not find them. The server's log says why the embedder is behind." }),
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
