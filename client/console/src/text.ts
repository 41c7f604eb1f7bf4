// All texts of the console, in English.

import { ThreadkeepError } from "@threadkeep/client";

import { short, whole } from "./components/numbers";

const plural = (count: number | bigint, one: string, many = `${one}s`) => `${whole(count)} ${count === 1 || count === 1n ? one : many}`;

export const text = {
  shell: {
    name: "Threadkeep",
    home: "Threadkeep, to the sessions",
    navigation: "Pages",
    skip: "Skip to the content",
    sessions: "Sessions",
    signOut: "Sign out",
  },
  theme: { legend: "Colors", system: "As the system", light: "Light", dark: "Dark" },
  states: {
    loading: "Loading…",
    failed: "That did not work",
    retry: "Try again",
    noPage: "There is no such page",
    request: (id: string) => `Request ${id}: the server's log has more.`,
  },
  live: {
    opening: "Connecting",
    live: "Live",
    away: "Reconnecting",
    failed: "Not live",
    hints: {
      opening: "Changes appear once the server has confirmed the subscription.",
      live: "Changes appear as they are committed.",
      away: "The server does not respond. Nothing is lost: changes appear when it is back.",
      failed: "Changes do not appear. Load the page again.",
    },
  },
  signIn: {
    title: "Sign in to Threadkeep",
    token: "Token",
    submit: "Sign in",
    hint: "The token stays in this tab: it is forgotten when you sign out or close the tab.",
    plain: "This page came without TLS. Others on the network can read what you send, the token included.",
    needed: "This server needs a token. Its operator sets them as auth_tokens, or issues them with `threadkeep tokens create`.",
    refused: "The server refuses this token.",
  },
  sessions: {
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
  },
  session: {
    events: (count: bigint) => plural(count, "event"),
    window: (events: bigint, tokens: bigint) => `${whole(events)} in the window, ${whole(tokens)} tokens`,
    forkOf: "Fork of",
    follow: "Follow",
    followHint: "Stay at the newest event",
    unseen: (count: number) => `${plural(count, "new event")}`,
    timeline: "Events",
    jump: "Go to seq",
    emptyTitle: "No events yet",
    emptyHint: "This command appends the first one:",
    gone: "This session was deleted.",
    moved: "This session was given to another user.",
    all: "All sessions",
    choose: "Which session?",
    chooseHint: "Choose one from the list of sessions.",
  },
  fold: {
    archived: (events: bigint) => `${plural(events, "event")} archived`,
    by: (strategy: string, actor: string) => `by ${strategy.replaceAll("_", " ")}${actor ? ` (${actor})` : ""}`,
    saved: (before: bigint, after: bigint) => `window ${whole(before)} → ${whole(after)} tokens`,
    show: (first: number, last: number) => `Show #${whole(first)}–#${whole(last)}`,
    hide: "Hide",
  },
  inspector: {
    title: (seq: bigint) => `Event #${seq}`,
    form: "Form",
    native: "Native",
    copy: "Copy",
    close: "Close",
    open: (seq: number) => `Raw and copy, event ${seq}`,
  },
  event: {
    roles: { user: "user", assistant: "assistant", system: "system", tool: "tool", unknown: "unknown" },
    seq: (seq: bigint) => `#${seq}`,
    archived: "archived",
    archivedHint: "Outside the window: a compaction or a removal took it out. It stays readable.",
    synthetic: "synthetic",
    syntheticHint: (source: string) => `Inserted by a compaction${source ? `: ${source}` : ""}`,
    erased: "The content of this event was erased.",
    empty: "No content in parts",
    native: (format: string) => `native: ${format}`,
    turn: "Turn",
    reasoning: "Reasoning",
    encrypted: "Reasoning that only its provider can read",
    call: "calls",
    result: "result of",
    failed: "failed",
    answered: "answered",
    pending: "no result yet",
    arguments: "Arguments",
    tokens: (count: bigint) => `${whole(count)} tokens`,
    showAll: (characters: number) => `Show all of ${whole(characters)} characters`,
    showLess: "Show less",
    data: "Data",
    unknownPart: "A part of a newer version",
    media: (kind: string, size: string) => `${kind}, ${size}`,
    remote: "Media elsewhere. Nothing is loaded from it.",
    file: (id: string) => `File ${id} at the provider`,
    copyLink: "Copy the address of this event",
    copied: "Copied",
    branch: "branch",
    loading: "Loading",
    image: "Image of the message",
  },
} as const;

/** The command that makes the first event of a session. */
export function firstEvent(app = "shop", user = "alice", session = "trip"): string {
  const quoted = [app, user, session].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  return `threadkeep events append --create --app ${quoted[0]} --user ${quoted[1]} ${quoted[2]} 'Is BA117 on time?'`;
}

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
  RATE_LIMITED: "Wait a moment, then try again.",
  STORE_UNAVAILABLE: "The server does not reach its database. Its log has the cause; the console tries again.",
  SERVER_DRAINING: "The server is shutting down. The console tries again.",
  HISTORY_UNKNOWN: "The server does not know this point of the history. Choose a later one.",
  INTERNAL: "This is a fault of the server. Its log has the cause.",
};
