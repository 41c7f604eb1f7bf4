// State of ADK, whose keys have the prefixes of their scopes, as the state of Threadkeep's scopes.

import { State } from "@google/adk";
import type { StateChanges } from "@threadkeep/client";

type Values = Record<string, unknown>;

/** The values of a state or of a delta by scope, without prefixes. */
export interface Scoped {
  readonly session: Values;
  readonly user: Values;
  readonly app: Values;
}

/** Returns the state by scope; `temp:` keys are in none, and values that are undefined are left out. */
export function scoped(state: Readonly<Values> = {}): Scoped {
  const found = { session: empty(), user: empty(), app: empty() };
  for (const [key, value] of Object.entries(state)) {
    if (key.startsWith(State.TEMP_PREFIX) || JSON.stringify(value) === undefined) continue;
    if (key.startsWith(State.APP_PREFIX)) found.app[key.slice(State.APP_PREFIX.length)] = value;
    else if (key.startsWith(State.USER_PREFIX)) found.user[key.slice(State.USER_PREFIX.length)] = value;
    else found.session[key] = value;
  }
  return found;
}

/** Returns an object to whose members no name is special. */
const empty = (): Values => Object.create(null) as Values;

/** Returns the state that a session shows: its own values, and those of its user and its app with their prefixes. */
export function merged({ session, user, app }: Scoped): Values {
  const found = Object.assign(empty(), session);
  for (const [key, value] of Object.entries(app)) found[State.APP_PREFIX + key] = value;
  for (const [key, value] of Object.entries(user)) found[State.USER_PREFIX + key] = value;
  return found;
}

/** Returns the changes that set these values; undefined for none. null is a value: nothing is removed. */
export const changes = (values: Values): StateChanges | undefined => (Object.keys(values).length > 0 ? { set: { ...values } } : undefined);
