// Tool calls tied to their results, by the id of the call.

import type { SessionEvent } from "@threadkeep/client";
import type { ToolCallPart, ToolResultPart } from "@threadkeep/client/v1";

export interface ToolPair {
  call?: { event: SessionEvent; part: ToolCallPart };
  result?: { event: SessionEvent; part: ToolResultPart };
}

export type ToolPairs = ReadonlyMap<string, ToolPair>;

/** Returns the pairs of the events. Ids of calls are unique in a conversation, but not always; a result belongs to the last call before it. */
export function pairsOf(pages: readonly ReadonlyMap<number, SessionEvent>[]): ToolPairs {
  const pairs = new Map<string, ToolPair>();
  for (const event of pages.flatMap((page) => [...page.values()])) {
    for (const { content } of event.message?.parts ?? []) {
      if (content.case === "toolCall") pairs.set(content.value.id, { ...pairs.get(content.value.id), call: { event, part: content.value } });
      if (content.case === "toolResult") {
        pairs.set(content.value.callId, { ...pairs.get(content.value.callId), result: { event, part: content.value } });
      }
    }
  }
  return pairs;
}
