// State: values by key, of a session, of a user in an app, or of an app.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";

import type { SessionRef } from "./gen/threadkeep/v1/session_pb.js";
import type { StateDeltaSchema, StatePatchSchema, StateScope } from "./gen/threadkeep/v1/state_pb.js";
import { StateService } from "./gen/threadkeep/v1/state_service_pb.js";
import { jsonTexts, type Caller, type Int } from "./requests.js";

/** The state of a scope, as it was read. */
export interface State {
  /** Values by key, as `JSON.parse` reads them. */
  readonly values: Readonly<Record<string, any>>;
  /** JSON text of each value, as it was set: integers beyond 2^53 and the order of members survive. */
  readonly texts: Readonly<Record<string, string>>;
  /** Version to expect in a patch; 0 if nothing was ever set. */
  readonly version: number;
}

/** Which values to read, and when. */
export interface StateQuery {
  /** Keys to read, at most 1,000; those without a value are left out. Default: all. */
  keys?: readonly string[] | undefined;
  /** Beginning of the keys to read. */
  keyPrefix?: string | undefined;
  /** Reads the state of a session as it was at this log version. Not for users and apps. */
  asOfLogVersion?: Int | undefined;
}

/** Changes of a state, at most 1,000 keys. */
export interface StateChanges {
  /** Values to set: anything that `JSON.stringify` writes. null is a value; it does not remove the key. */
  set?: Readonly<Record<string, unknown>> | undefined;
  /** Values to set as JSON text, which is stored verbatim. */
  setJson?: Readonly<Record<string, string>> | undefined;
  /** Keys to remove. */
  remove?: readonly string[] | undefined;
}

/** Options of a patch. */
export interface PatchOptions extends Omit<StateChanges, "set"> {
  /** Version of the state that was read; VERSION_MISMATCH if another change came between. */
  expect?: { version: Int } | undefined;
}

/**
 * A handle on the state of a session, of a user in an app, or of an app. Get it from `session.state()`, `client.userState()` or
 * `client.appState()`; it makes no call. Every method may fail with SESSION_NOT_FOUND and AMBIGUOUS_SESSION for a session, and
 * with PERMISSION_DENIED beyond the token's reach.
 */
export class StateHandle {
  /** @internal Use `session.state()`, `client.userState()` or `client.appState()`. */
  constructor(
    private readonly caller: Caller,
    private readonly scope: StateScope,
    private readonly ref: SessionRef,
  ) {}

  /**
   * Returns the values and their version, page by page, each with the timeout. If others change the state between two pages, it
   * starts over, so that all values are of one version.
   */
  async get({ keys = [], keyPrefix, asOfLogVersion }: StateQuery = {}, call?: CallOptions): Promise<State> {
    const asOf = asOfLogVersion === undefined ? undefined : BigInt(asOfLogVersion);
    const request = { scope: this.scope, session: this.ref, keys: [...keys], keyPrefix, asOfLogVersion: asOf };
    let pages: Record<string, string>[] = [];
    let [afterKey, version] = ["", 0n];
    do {
      const { state, nextKey } = await this.#service.getState({ ...request, afterKey }, call);
      const changed = afterKey !== "" && asOf === undefined && state?.version !== version;
      if (changed) pages = [];
      else pages.push(state?.values ?? {});
      version = state?.version ?? 0n;
      afterKey = changed ? "" : nextKey;
    } while (afterKey !== "" || pages.length === 0);
    const texts = Object.fromEntries(pages.flatMap((page) => Object.entries(page)));
    const values = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, JSON.parse(text)]));
    return { values, texts, version: Number(version) };
  }

  /**
   * Sets values and removes keys, all or none, and returns the version afterwards: `patch({ cart: 3 }, { remove: ["draft"] })`.
   * A patch that changes nothing keeps the version. Throws TypeError for a value without a JSON form. Reasons: STATE_TOO_LARGE, and
   * VERSION_MISMATCH if the state is not as expected, also if a retry of the client finds its own first attempt.
   */
  async patch(set: Readonly<Record<string, unknown>>, { expect, ...rest }: PatchOptions = {}, call?: CallOptions): Promise<number> {
    const expectedVersion = expect && BigInt(expect.version);
    const request = { scope: this.scope, session: this.ref, patch: patchOf({ ...rest, set }), expectedVersion };
    return Number((await this.#service.patchState(request, call)).version);
  }

  get #service() {
    return this.caller.raw(StateService);
  }
}

function patchOf({ set, setJson, remove = [] }: StateChanges): MessageInitShape<typeof StatePatchSchema> {
  return { set: { ...jsonTexts(set), ...setJson }, remove: [...remove] };
}

/** Returns the changes of an append; undefined for none. */
export function deltaOf(
  session: StateChanges | undefined,
  user: StateChanges | undefined,
  app: StateChanges | undefined,
): MessageInitShape<typeof StateDeltaSchema> | undefined {
  if (session === undefined && user === undefined && app === undefined) return undefined;
  return { session: session && patchOf(session), user: user && patchOf(user), app: app && patchOf(app) };
}
