// What is wrong or missing, in words, with what to do. Derived from what the server reports; nothing is guessed.

import type { GetServerInfoResponse } from "@threadkeep/client/v1";

import type { Metrics } from "../../api/metrics";
import { IS_PLAIN } from "../../place";
import { text } from "../../text";

export interface Finding {
  level: "bad" | "warn" | "hint";
  words: string;
  advice: string;
}

/** Change batches without an index from which searches get noticeably slower. */
const MOST_LAG = 1_000n;
/** Events and memories that a busy server may have without an embedding. */
const MOST_WAITING = 1_000n;
/** Changes that a busy server may be behind, and failed logins that forgetful users cause. */
const MOST_TAIL_LAG = 1_000;
const MOST_LOGINS = 100;
/** Part of a limit of storage from which it counts as almost reached. */
const ALMOST = 0.9;

/** Returns what the counters of operators say. */
function fromMetrics({ values }: Metrics): Finding[] {
  const words = text.overview.findings;
  const found: Finding[] = [];
  const of = (name: string) => values.get(name) ?? 0;
  if (values.get("up") === 0) found.push({ level: "bad", ...words.down });
  if (of("feed_stalled_seconds") > 0) found.push({ level: "bad", ...words.stalled(of("feed_stalled_seconds")) });
  if (of("audit_lost_records_total") > 0) found.push({ level: "bad", ...words.auditLost(of("audit_lost_records_total")) });
  if (of("sweep_held") > 0) found.push({ level: "warn", ...words.sweepHeld });
  if (of("feed_tail_lag_changes") > MOST_TAIL_LAG) found.push({ level: "warn", ...words.tailLag(of("feed_tail_lag_changes")) });
  if (of("failed_logins_total") > MOST_LOGINS) found.push({ level: "warn", ...words.failedLogins(of("failed_logins_total")) });
  if (of("embedding_failures_total") > 0) found.push({ level: "hint", ...words.embeddingFailures(of("embedding_failures_total")) });
  return found;
}

const GRAVITY = ["bad", "warn", "hint"] as const;

/** Returns the findings, the gravest first. `metrics`: undefined if they cannot be read. */
export function findingsOf(info: GetServerInfoResponse, metrics: Metrics | undefined): Finding[] {
  const words = text.overview.findings;
  const found: Finding[] = metrics ? fromMetrics(metrics) : [];
  for (const { name, limit, used } of info.caller?.quotas ?? []) {
    if (name.endsWith("_per_tenant") && used !== undefined && used >= limit * ALMOST) found.push({ level: "warn", ...words.quota(text.access.quota(name)) });
  }
  const { searchIndex, embeddings, summarizerModel } = info;
  const gone = info.servers.filter((server) => server.gone).length;
  if (gone > 0) found.push({ level: "warn", ...words.gone(gone) });
  if (new Set(info.servers.filter((server) => !server.gone).map(({ version }) => version)).size > 1) found.push({ level: "hint", ...words.versions });
  if (IS_PLAIN) found.push({ level: "bad", ...words.plain });
  if (info.engine.includes("memory")) found.push({ level: "bad", ...words.inMemory });
  if (info.durability.includes("synchronous=") && !/FULL|EXTRA/i.test(info.durability)) found.push({ level: "warn", ...words.durability(info.durability) });
  if (searchIndex?.enabled === false) found.push({ level: "warn", ...words.noIndex });
  if ((searchIndex?.lagBatches ?? 0n) > MOST_LAG) found.push({ level: "warn", ...words.indexLag(searchIndex!.lagBatches) });
  if ((embeddings?.waiting ?? 0n) > MOST_WAITING) found.push({ level: "warn", ...words.embeddingLag(embeddings!.waiting) });
  if (!embeddings?.enabled) found.push({ level: "hint", ...words.noEmbedder });
  if (!summarizerModel) found.push({ level: "hint", ...words.noSummarizer });
  return found.sort((one, other) => GRAVITY.indexOf(one.level) - GRAVITY.indexOf(other.level));
}
