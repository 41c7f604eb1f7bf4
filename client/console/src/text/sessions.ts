// Texts of the list of sessions.

import { short } from "../components/numbers";
import { plural } from "./plural";

export const sessions = {
  title: "Sessions",
  count: (count: number) => (count > 10_000 ? "More than 10,000 sessions" : plural(count, "session")),
  filters: "Filters",
  app: "App",
  user: "User",
  prefix: "Id begins with",
  label: "Label",
  labelHint: "key=value",
  since: "Active",
  order: "Order",
  clear: "Clear",
  sinces: { "": "At any time", "1h": "In the last hour", "24h": "In the last day", "7d": "In the last week", "30d": "In the last 30 days" },
  orders: { "": "Last active first", active: "First active first", created: "Newest first", oldest: "Oldest first" },
  columns: { session: "Session", latest: "Latest message", events: "Events", tokens: "Window", active: "Active" },
  tokens: (count: bigint) => `${short(count)} tokens`,
  archived: (count: bigint) => `${plural(count, "event")} outside the window`,
  noText: "no text",
  emptyTitle: "No sessions yet",
  emptyHint: "This command makes the first one:",
  noMatchTitle: "No session matches",
  noMatchHint: "Widen the filters, or clear them.",
  expires: (when: string) => `expires ${when}`,
  fork: "fork",
  more: "Loading more sessions",
} as const;
