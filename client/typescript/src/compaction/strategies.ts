// Builders of compaction policies, triggers and strategies. Numbers that are left out are the server's defaults, in parentheses.

import { create } from "@bufbuild/protobuf";

import {
  CompactionPolicySchema,
  CompactionStrategySchema,
  CompactionTriggerSchema,
  type CompactionPolicy,
  type CompactionStrategy,
  type CompactionTrigger,
} from "../gen/threadkeep/v1/compaction_pb.js";
import type { Int } from "../requests.js";

const trigger = (kind: CompactionTrigger["kind"]) => create(CompactionTriggerSchema, { kind });

/** The window has more than n turns. */
export const turnsOver = (n: Int) => trigger({ case: "turnsOver", value: BigInt(n) });

/** The window has n tokens or more. */
export const tokensAtLeast = (n: Int) => trigger({ case: "tokens", value: BigInt(n) });

/** The window has n bytes or more. */
export const bytesAtLeast = (n: Int) => trigger({ case: "bytes", value: BigInt(n) });

/** The window has n events or more. */
export const eventsAtLeast = (n: Int) => trigger({ case: "events", value: BigInt(n) });

/** Fires if one of these fires. */
export const anyOf = (...triggers: CompactionTrigger[]) => create(CompactionTriggerSchema, { kind: { case: "anyOf", value: { triggers } } });

/** Fires if all of these fire. */
export const allOf = (...triggers: CompactionTrigger[]) => create(CompactionTriggerSchema, { kind: { case: "allOf", value: { triggers } } });

/** Keeps the newest events (20), from the start of a turn on. */
export function slidingWindow(maxEvents = 0): CompactionStrategy {
  return create(CompactionStrategySchema, { kind: { case: "slidingWindow", value: { maxEvents } } });
}

/** Keeps the newest turns (10). */
export function turnWindow(maxTurns = 0): CompactionStrategy {
  return create(CompactionStrategySchema, { kind: { case: "turnWindow", value: { maxTurns } } });
}

/** Keeps the newest turns that fit into this number of tokens (4,000). */
export function tokenBudget(maxTokens: Int = 0): CompactionStrategy {
  return create(CompactionStrategySchema, { kind: { case: "tokenBudget", value: { maxTokens: BigInt(maxTokens) } } });
}

/** Options of `recursiveSummary`. */
export interface SummaryOptions {
  /** Maximum number of events to keep (10). */
  keep?: number | undefined;
  /** Number of kept events that the model also sees, for continuity (2). */
  overlap?: number | undefined;
  /** Instructions to the model. */
  systemPrompt?: string | undefined;
  /** Text of the user's event before the summary. */
  shadowPrompt?: string | undefined;
  /** Maximum number of tokens of the summary (1,024). */
  maxSummaryTokens?: number | undefined;
  /** Maximum number of tokens of a prompt (64,000); of more, the oldest turns are summarized, and the next compaction continues. */
  maxPromptTokens?: number | undefined;
}

/** Keeps the newest events and replaces those before them with a summary that a model writes. */
export function recursiveSummary({ keep, ...options }: SummaryOptions = {}): CompactionStrategy {
  return create(CompactionStrategySchema, { kind: { case: "recursiveSummary", value: { maxEventsToKeep: keep, ...options } } });
}

/** Replaces tool results of `minTokens` (64) or more with stubs, except those of the newest turns (1). */
export function trimToolResults(options: { keepTurns?: number | undefined; minTokens?: number | undefined } = {}): CompactionStrategy {
  return create(CompactionStrategySchema, { kind: { case: "trimToolResults", value: options } });
}

/** Several strategies, each applied to the result of the one before it; a recursive summary at most once, and last. */
export function pipeline(...steps: CompactionStrategy[]): CompactionStrategy {
  return create(CompactionStrategySchema, { kind: { case: "pipeline", value: { steps } } });
}

/** An HTTP endpoint plans: a webhook of that name in the server's configuration. */
export function webhook(name: string): CompactionStrategy {
  return create(CompactionStrategySchema, { kind: { case: "webhook", value: { name } } });
}

/** Members of a named consumer compact, in a policy. A change that requests it has `compactionDue`. */
export function compactedBy(consumer: string): CompactionStrategy {
  return create(CompactionStrategySchema, { kind: { case: "consumer", value: { name: consumer } } });
}

/** Compacts by the strategy when an append makes the trigger fire: `policy(turnsOver(50), recursiveSummary())`. */
export function policy(when: CompactionTrigger, strategy: CompactionStrategy): CompactionPolicy {
  return create(CompactionPolicySchema, { trigger: when, strategy });
}

/** Never compacts, even if a wider policy would. */
export const neverCompact = () => create(CompactionPolicySchema, { disabled: true });
