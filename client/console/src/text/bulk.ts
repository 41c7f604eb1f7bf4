// Texts of deleting many sessions.

import { whole } from "../components/numbers";
import { plural } from "./plural";

export const bulk = {
  select: (id: string) => `Select ${id}`,
  selectAll: "Select all that are loaded",
  selected: (count: number) => `${whole(count)} selected`,
  remove: "Delete…",
  removeAll: "Delete all that match…",
  clear: "Clear the selection",
  counting: (count: number) => `Counting: ${plural(count, "session")} so far`,
  none: "No session matches any more.",
  title: (count: number) => `Delete ${plural(count, "session")} for good?`,
  warning: "Their events, state and compactions are deleted too. Nobody can read them again.",
  more: (count: number) => `and ${whole(count)} more`,
  memories: "Also delete the memories that came from them",
  confirm: (count: number) => `Delete ${plural(count, "session")}`,
  cancel: "Cancel",
  progress: (done: number, all: number) => `${whole(done)} of ${plural(all, "session")}`,
  stop: "Stop",
  stopped: (count: number) => `Stopped. ${plural(count, "session")} ${count === 1 ? "was" : "were"} left alone.`,
  deleted: (sessions: number, events: bigint) => `${plural(sessions, "session")} deleted, with ${plural(events, "event")}.`,
  memoriesDeleted: (count: bigint) => `${plural(count, "memory", "memories")} deleted.`,
  missing: (count: number) => `${whole(count)} did not exist any more.`,
  failed: (count: number) => `${plural(count, "session")} could not be deleted:`,
  retry: "Try these again",
  copy: "Copy the receipt",
  copyIds: "Copy the ids",
  close: "Close",
} as const;
