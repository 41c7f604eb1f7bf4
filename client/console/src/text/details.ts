// Texts of a session's details.

import { whole } from "../components/numbers";
import { plural } from "./plural";

export const details = {
  created: "Created",
  updated: "Last active",
  expires: "Expires",
  never: "never",
  events: "Events",
  window: "Window",
  counters: (events: bigint, turns: bigint, tokens: bigint) => `${plural(events, "event")}, ${plural(turns, "turn")}, ${plural(tokens, "token")}`,
  usage: "Reported usage",
  tokens: (input: bigint, output: bigint) => `${whole(input)} tokens in, ${whole(output)} out`,
  versions: "Log / window version",
  uid: "Uid",
  metadata: "Metadata",
  compactions: "Compactions",
  noCompactions: "None. All events are in the window, unless they were removed.",
} as const;
