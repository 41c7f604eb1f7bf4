// What to do about an error, by its reason.

import { ThreadkeepError } from "@threadkeep/client";

/** What to do about an error, by its reason; undefined if the message says it. */
export function adviceFor(error: Error): string | undefined {
  if (!(error instanceof ThreadkeepError)) return undefined;
  return ADVICE[error.reason] ?? (error.isTransient ? "The server is away or busy. The console tries again." : undefined);
}

const ADVICE: Readonly<Record<string, string>> = {
  PERMISSION_DENIED: "Sign in with a token that has the needed role, or that is not bound to another user or app.",
  UNAUTHENTICATED: "Sign in with a valid token.",
  SESSION_NOT_FOUND: "It may have been deleted or have expired. Check app, user and id.",
  AMBIGUOUS_SESSION: "Several sessions have this id. Open it from the list of sessions.",
  MEMORY_NOT_CONFIGURED: "Set memory = true on the server.",
  VERSION_MISMATCH: "It was changed meanwhile. Read it again, then retry.",
  RATE_LIMITED: "Wait a moment, then try again.",
  STORE_UNAVAILABLE: "The server does not reach its database. Its log has the cause; the console tries again.",
  SERVER_DRAINING: "The server is shutting down. The console tries again.",
  HISTORY_UNKNOWN: "The server does not know this point of the history. Choose a later one.",
  INTERNAL: "This is a fault of the server. Its log has the cause.",
};
