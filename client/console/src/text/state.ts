// Texts of a session's state and of its lineage.

import { whole } from "../components/numbers";
import { plural } from "./plural";

export const state = {
  title: (version: bigint) => (version > 0n ? `State, version ${version}` : "State"),
  none: "No values are set.",
  history: "History",
  read: "Read the history of the state",
  key: "Key",
  allKeys: "all",
  when: "When",
  event: "Event",
  change: "Change",
  becomes: "becomes",
  patch: (version: bigint) => `version ${version}`,
  patchHint: "A change without events: a patch of the state, a rewind, or what a fork began with.",
  omitted: "Many values. The change is too large for the feed.",
  unset: "not set",
  unknown: "not known any more",
  trimmed: "The feed no longer has the beginning of this session: its changes are kept for feed_retention.",
  more: (count: number) => `Show ${plural(count, "more change")}`,
} as const;

export const lineage = {
  title: "Forks",
  none: "It is not a fork, and has none.",
  events: (count: bigint) => plural(count, "event"),
  forkedAt: (seq: bigint, last: bigint) => `forked at #${whole(seq)}, ${plural(last, "event")}`,
  gone: "does not exist any more",
  other: "another session of this name: an imported one, or the name was used again",
  cut: "There are more forks than are shown.",
  cutBranches: "There are more branches than are shown.",
  branches: "Branches",
  root: "root",
  branch: (count: bigint | undefined, first: bigint | undefined, last: bigint | undefined) =>
    [count === undefined ? "" : plural(count, "event"), range(first, last)].filter(Boolean).join(", "),
} as const;

const range = (first: bigint | undefined, last: bigint | undefined): string => {
  if (first === undefined || last === undefined) return "";
  return first === last ? `#${whole(first)}` : `#${whole(first)} to #${whole(last)}`;
};
