// What is wrong or missing, in words, with what to do. Derived from what the server reports; nothing is guessed.

import type { GetServerInfoResponse } from "@threadkeep/client/v1";

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

/** Returns the findings, the gravest first. */
export function findingsOf(info: GetServerInfoResponse): Finding[] {
  const words = text.overview.findings;
  const found: Finding[] = [];
  const { searchIndex, embeddings, summarizerModel } = info;
  if (IS_PLAIN) found.push({ level: "bad", ...words.plain });
  if (info.engine.includes("memory")) found.push({ level: "bad", ...words.inMemory });
  if (info.durability.includes("synchronous=") && !/FULL|EXTRA/i.test(info.durability)) found.push({ level: "warn", ...words.durability(info.durability) });
  if (searchIndex?.enabled === false) found.push({ level: "warn", ...words.noIndex });
  if ((searchIndex?.lagBatches ?? 0n) > MOST_LAG) found.push({ level: "warn", ...words.indexLag(searchIndex!.lagBatches) });
  if ((embeddings?.waiting ?? 0n) > MOST_WAITING) found.push({ level: "warn", ...words.embeddingLag(embeddings!.waiting) });
  if (!embeddings?.enabled) found.push({ level: "hint", ...words.noEmbedder });
  if (!summarizerModel) found.push({ level: "hint", ...words.noSummarizer });
  return found;
}
