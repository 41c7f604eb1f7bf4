import { type Change, SessionChangeKind } from "./gen/recollect/v1/subscription_pb.js";

/** Sessions whose last version is remembered. */
export const REMEMBERED = 4096;

/** Where a subscription stands: its last resume token, the parts of a change that is arriving, and what was handed out. */
export class Cursor {
  #token = "";
  #parts: Change[] = [];
  readonly #versions = new Map<string, bigint>();

  /** The change if it is whole and new. Undefined: parts are missing, or it is a repetition or of an unknown kind. */
  take(change: Change): Change | undefined {
    if (isPartial(change)) {
      this.#parts.push(change);
      return undefined;
    }
    if (this.#parts.length > 0 && (change.kind.case === "batch" || change.kind.case === "compaction")) {
      change = joined([...this.#parts, change]);
      this.#parts = [];
    }
    if (change.resumeToken) this.#token = change.resumeToken;
    return change.kind.case !== undefined && this.#isNew(change) ? change : undefined;
  }

  /** The token to go on from, empty if there is none yet. A change of which parts arrived will come again as a whole. */
  resume(): string {
    this.#parts = [];
    return this.#token;
  }

  /** The resume token makes repetitions impossible; a session's versions, which only grow, make sure of it. */
  #isNew(change: Change): boolean {
    const { session, kind, versions } = change;
    const key = JSON.stringify([session?.app, session?.userId, session?.sessionId]);
    if (kind.case === "sessionChange" && kind.value.kind !== SessionChangeKind.UPDATED) {
      this.#versions.delete(key); // a session of this name begins or ends, and with it its versions
    }
    const version = versions?.logVersion ?? 0n;
    if (version === 0n) return true;
    if (version <= (this.#versions.get(key) ?? 0n)) return false;
    this.#versions.delete(key); // a Map keeps the order of insertion: the newest is to be its last
    this.#versions.set(key, version);
    if (this.#versions.size > REMEMBERED) {
      for (const oldest of this.#versions.keys()) {
        this.#versions.delete(oldest);
        break;
      }
    }
    return true;
  }
}

function isPartial({ kind }: Change): boolean {
  return (kind.case === "batch" || kind.case === "compaction") && kind.value.continues;
}

/** One change from its parts: the last one's token, time and versions, the events of all. */
function joined(parts: Change[]): Change {
  const [first, last] = [parts[0]!, parts[parts.length - 1]!];
  if (last.kind.case === "compaction") {
    const inserted = parts.flatMap(({ kind }) => (kind.case === "compaction" ? kind.value.inserted : []));
    const { compaction } = first.kind.case === "compaction" ? first.kind.value : last.kind.value;
    return { ...last, kind: { case: "compaction", value: { ...last.kind.value, compaction, inserted } } };
  }
  if (last.kind.case !== "batch") return last;
  const events = parts.flatMap(({ kind }) => (kind.case === "batch" ? kind.value.events : []));
  return { ...last, kind: { case: "batch", value: { ...last.kind.value, events } } };
}
