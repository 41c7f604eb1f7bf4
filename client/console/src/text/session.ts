// Texts of a session: its timeline, its folds and its inspector.

import { whole } from "../components/numbers";
import { plural } from "./plural";

export const session = {
  events: (count: bigint) => plural(count, "event"),
  window: (events: bigint, tokens: bigint) => `${whole(events)} in the window, ${whole(tokens)} tokens`,
  forkOf: "Fork of",
  follow: "Follow",
  followHint: "Stay at the newest event",
  unseen: (count: number) => `${plural(count, "new event")}`,
  timeline: "Events",
  jump: "Go to seq",
  time: "Go to time",
  find: "Find",
  findHint: "words in this session",
  hits: (shown: number, all: number) => (all === 0 ? "nothing found" : `${shown} of ${all}`),
  next: "Next hit",
  emptyTitle: "No events yet",
  emptyHint: "This command appends the first one:",
  gone: "This session was deleted.",
  moved: "This session was given to another user.",
  all: "All sessions",
  choose: "Which session?",
  chooseHint: "Choose one from the list of sessions.",
} as const;

export const views = { legend: "Views of the session", events: "Events", context: "Context", details: "Details", noApp: "no app" } as const;

export const fold = {
  archived: (events: bigint) => `${plural(events, "event")} archived`,
  by: (strategy: string, actor: string) => `by ${strategy.replaceAll("_", " ")}${actor ? ` (${actor})` : ""}`,
  saved: (before: bigint, after: bigint) => `window ${whole(before)} → ${whole(after)} tokens`,
  show: (first: number, last: number) => `Show #${whole(first)}–#${whole(last)}`,
  hide: "Hide",
} as const;

export const inspector = {
  title: (seq: bigint) => `Event #${seq}`,
  form: "Form",
  native: "Native",
  copy: "Copy",
  close: "Close",
  open: (seq: number) => `Raw and copy, event ${seq}`,
} as const;
