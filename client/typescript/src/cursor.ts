import { type Change, SessionChangeKind } from "./gen/threadkeep/v1/subscription_pb.js";

/** Sessions whose last version is remembered. */
export const REMEMBERED = 4096;

/** Where a subscription stands: its last resume token, the parts of a change that is arriving, and what was handed out. */
export class Cursor {
  #token = "";
  #first: Change["kind"] | undefined;
  readonly #versions = new Map<string, bigint>();

  /** The change if it is whole and new. Undefined: parts are missing, or it is a repetition or of an unknown kind. */
  take(change: Change): Change | undefined {
    const { kind, resumeToken } = change;
    if (kind.case === "batch" || kind.case === "compaction") {
      this.#join(kind);
      if (kind.value.continues) return undefined;
      this.#first = undefined;
    }
    if (resumeToken) this.#token = resumeToken;
    return kind.case !== undefined && this.#isNew(change) ? change : undefined;
  }

  /** The token to go on from, empty if there is none yet. A change of which parts arrived will come again as a whole. */
  resume(): string {
    this.#first = undefined;
    return this.#token;
  }

  /** Gathers the events of all parts in the last one, whose token, time and versions are the whole change's. */
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
    }
  }

  /** The resume token makes repetitions impossible; a session's versions, which only grow, make sure of it. */
  #isNew({ session, kind, versions }: Change): boolean {
    const key = `${session?.app}\0${session?.userId}\0${session?.sessionId}`; // names hold no control characters
    if (kind.case === "sessionChange" && kind.value.kind !== SessionChangeKind.UPDATED) {
      this.#versions.delete(key); // a session of this name begins or ends, and with it its versions
    }
    const version = versions?.logVersion ?? 0n;
    if (version === 0n) return true;
    if (version <= (this.#versions.get(key) ?? 0n)) return false;
    this.#versions.delete(key); // a Map keeps the order of insertion: the newest is to be its last
    this.#versions.set(key, version);
    if (this.#versions.size > REMEMBERED) this.#versions.delete(this.#versions.keys().next().value!);
    return true;
  }
}
