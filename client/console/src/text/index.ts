// All texts of the console, in English: one file per area.

import { access } from "./access";
import { bulk } from "./bulk";
import { changes, consumers } from "./changes";
import { context } from "./context";
import { details } from "./details";
import { event } from "./event";
import { memories } from "./memories";
import { overview } from "./overview";
import { policies } from "./policies";
import { search } from "./search";
import { fold, inspector, session, views } from "./session";
import { sessions } from "./sessions";
import { lineage, state } from "./state";
import { live, shell, signIn, states, theme } from "./shell";

export { adviceFor } from "./advice";
export { firstEvent } from "./commands";

export const text = {
  now: "now",
  access,
  shell,
  theme,
  states,
  live,
  signIn,
  sessions,
  bulk,
  search,
  memories,
  changes,
  consumers,
  overview,
  policies,
  session,
  views,
  context,
  details,
  state,
  lineage,
  fold,
  inspector,
  event,
} as const;
