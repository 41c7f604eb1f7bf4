// Texts of a session's context.

import { plural } from "./plural";

export const context = {
  settings: "What the agent may see",
  events: "Events of the context",
  asOf: "As of",
  now: "Now",
  earlier: "Turn before",
  later: "Turn after",
  sliders: { turns: "Turns at most", events: "Events at most", tokens: "Tokens at most" },
  noLimit: "no limit",
  branch: "Branch of the agent",
  branchHint: "all",
  without: "Without authors",
  withoutHint: "critic, planner",
  summary: (events: bigint, turns: bigint, tokens: bigint) => `${plural(events, "event")}, ${plural(turns, "turn")}, ${plural(tokens, "token")}.`,
  truncated: "Older events were left out.",
  overBudget: "The newest turn alone exceeds the limit.",
  gauge: (context: string, window: string, trigger: string | undefined) =>
    `${context} of the window's ${window} tokens${trigger === undefined ? "" : `; the policy compacts at ${trigger}`}`,
  policy: (scope: string | undefined, hasPolicy: boolean) =>
    hasPolicy ? `The policy is that of the ${scope === undefined ? "server" : scope}.` : "No policy compacts this session.",
  compact: "Compact",
  strategy: "Strategy",
  strategies: {
    turnWindow: "Turn window",
    slidingWindow: "Sliding window",
    tokenBudget: "Token budget",
    trimToolResults: "Trim tool results",
    recursiveSummary: "Recursive summary",
  },
  limits: { turnWindow: "Turns to keep", slidingWindow: "Events to keep", tokenBudget: "Tokens to keep", trimToolResults: "Whole turns", recursiveSummary: "Events to keep" },
  dryRun: "Dry run",
  apply: "Apply",
  nothing: "There is nothing to compact.",
  would: (count: number) => `It would archive ${plural(count, "event")}. Nothing is deleted.`,
  applied: (count: number) => `Archived ${plural(count, "event")}.`,
  before: "Before",
  after: "After",
  counters: { events: "Events", turns: "Turns", tokens: "Tokens" },
} as const;
