// Texts of the changes and of the consumers.

import { whole } from "../components/numbers";
import { plural } from "./plural";

export const changes = {
  title: "Changes",
  views: "Views",
  shown: { feed: "Feed", consumers: "Consumers" },
  feed: "Changes, newest first",
  pause: "Pause",
  waiting: (count: number) => `Paused: ${plural(count, "change")} waiting`,
  emptyTitle: "Waiting for changes",
  emptyHint: "What is committed from now on appears here at once. This makes a change:",
  events: (count: number) => plural(count, "event"),
  kinds: { compaction: "compaction", sessionChange: "session", state: "state", removal: "removal" } as Readonly<Record<string, string>>,
  noText: "no text",
  unknown: "A change of a newer version",
  compaction: (events: bigint, strategy: string) => `archived ${plural(events, "event")} by ${strategy.replaceAll("_", " ")}`,
  state: (keys: string[]) => (keys.length > 0 ? `changed ${keys.join(", ")}` : "changed values"),
  removal: "took events out of the window",
  sessionChanges: { 1: "created", 2: "updated", 3: "expired and was deleted", 4: "deleted", 5: "was given to another user", 6: "came from another user" } as Readonly<Record<number, string>>,
} as const;

export const consumers = {
  name: "Consumer",
  scope: "App / user",
  lag: "Lag",
  members: "Members",
  parked: "Parked",
  anyApp: "any app",
  anyUser: "any user",
  emptyTitle: "No consumers yet",
  emptyHint: "A consumer is created when its first member joins. This example is one:",
  emptyCommand: "make example",
  settings: (partitions: number, attempts: number, time: string) => `${plural(partitions, "partition")}; ${plural(attempts, "attempt")} of ${time} each; created`,
  partitions: "Lag by partition",
  partition: (partition: number, lag: bigint, member: string) => `Partition ${partition}: lag ${whole(lag)}, ${member ? `held by ${member}` : "held by nobody"}`,
  trouble: (partition: number, attempts: number, reason: string) => `Partition ${partition} failed ${plural(attempts, "time")}: ${reason}`,
  noMembers: "No process works for it now. Changes wait until one joins.",
  holds: (count: number) => `holds ${plural(count, "partition")}, joined`,
  parkedTitle: (count: bigint) => `Parked changes (${whole(count)})`,
  noParked: "None. A change is parked when it failed too often.",
  attempts: (count: number) => plural(count, "attempt"),
  replay: "Replay",
  replaying: "Waits for a member",
  discard: "Discard",
  discardSure: "Discard for good",
  replayed: (count: bigint) => `${plural(count, "change")} will be delivered again.`,
  discarded: (count: bigint) => `${plural(count, "change")} discarded.`,
} as const;
