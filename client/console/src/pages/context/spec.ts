// What the address of the page says about a context, and the request that it makes.

import type { CompactionTrigger } from "@threadkeep/client/v1";

export interface ContextSearch {
  app?: string;
  user?: string;
  id?: string;
  /** Seq as of which the context is read; absent means now. */
  at?: string;
  turns?: string;
  tokens?: string;
  events?: string;
  branch?: string;
  without?: string;
}

const whole = (given: string | undefined) => (given && /^\d+$/.test(given) && given !== "0" ? Number(given) : undefined);

export function contextRequest({ app = "", user = "", id = "", at, turns, tokens, events, branch = "", without = "" }: ContextSearch) {
  const excluded = without.split(",").map((each) => each.trim()).filter(Boolean);
  const spec = {
    branch,
    ...(whole(turns) === undefined ? {} : { maxTurns: whole(turns)! }),
    ...(whole(events) === undefined ? {} : { lastN: whole(events)! }),
    ...(whole(tokens) === undefined ? {} : { maxTokens: BigInt(tokens!) }),
    authorFilters: excluded.length > 0 ? [{ kind: { case: "exclude", value: { ids: excluded } } } as const] : [],
  };
  const asOf = whole(at);
  return {
    session: { app, userId: user, sessionId: id },
    spec,
    ...(asOf === undefined ? {} : { asOf: { case: "asOfSeq", value: BigInt(asOf) } as const }),
  };
}

/** Returns the lowest number of tokens at which a trigger fires, other conditions aside; undefined without one. */
export function tokensOf(trigger: CompactionTrigger | undefined): number | undefined {
  const kind = trigger?.kind;
  if (kind?.case === "tokens") return Number(kind.value);
  if (kind?.case !== "anyOf" && kind?.case !== "allOf") return undefined;
  const found = kind.value.triggers.map(tokensOf).filter((each) => each !== undefined);
  return found.length > 0 ? Math.min(...found) : undefined;
}
