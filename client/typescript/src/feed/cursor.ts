import { type Change, SessionChangeKind } from "../gen/threadkeep/v1/subscription_pb.js";

/** Number of sessions whose last version is remembered. */
export const REMEMBERED = 4096;

/** The state of a subscription: the last resume token, the parts of an incomplete change, and the delivered versions. */
export class Cursor {
  #token = "";
  #first: Change["kind"] | undefined;
  readonly #versions = new Map<string, bigint>();

  /**
   * Returns the change if it is complete and new, or undefined if parts are missing, it is a repetition, or its kind is
   * unknown.
   */
  take(change: Change): Change | undefined {
    const { kind, resumeToken } = change;
    if (kind.case === "batch" || kind.case === "compaction" || kind.case === "removal") {
      this.#join(kind);
      if (kind.value.continues) return undefined;
      this.#first = undefined;
    }
    if (resumeToken) this.#token = resumeToken;
    return kind.case !== undefined && this.#isNew(change) ? change : undefined;
  }

  /** Returns the resume token, empty if there is none yet. An incomplete change will be delivered again in full. */
  resume(): string {
    this.#first = undefined;
    return this.#token;
  }

  /** Collects the events of all parts in the last part, whose token, time and versions belong to the whole change. */
  #join(part: Change["kind"]): void {
    const first = (this.#first ??= part);
    if (first === part) return;
    if (first.case === "batch" && part.case === "batch") {
      for (const event of part.value.events) first.value.events.push(event);
      part.value.events = first.value.events;
    } else if (first.case === "compaction" && part.case === "compaction") {
      for (const event of part.value.inserted) first.value.inserted.push(event);
      part.value.inserted = first.value.inserted;
      part.value.compaction = first.value.compaction;
    } else if (first.case === "removal" && part.case === "removal") {
      for (const event of part.value.inserted) first.value.inserted.push(event);
      part.value.inserted = first.value.inserted;
    }
  }

  /** The resume token prevents repetitions; the session's versions, which only increase, verify it. */
  #isNew({ session, kind, versions }: Change): boolean {
    const key = `${session?.app}\0${session?.userId}\0${session?.sessionId}`; // names contain no control characters
    if (kind.case === "sessionChange" && kind.value.kind !== SessionChangeKind.UPDATED) {
      this.#versions.delete(key); // a session of this name begins or ends, so its versions are no longer valid
    }
    const version = versions?.logVersion ?? 0n;
    if (version === 0n) return true;
    if (version <= (this.#versions.get(key) ?? 0n)) return false;
    this.#versions.delete(key); // a Map keeps insertion order; the newest must be last
    this.#versions.set(key, version);
    if (this.#versions.size > REMEMBERED) this.#versions.delete(this.#versions.keys().next().value!);
    return true;
  }
}
