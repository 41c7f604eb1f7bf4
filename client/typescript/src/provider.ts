import { create, type MessageInitShape } from "@bufbuild/protobuf";

import type { Authors } from "./filters.js";
import { ContextMode, ContextSpecSchema, type ContextSpec } from "./gen/threadkeep/v1/context_pb.js";
import type { Int } from "./requests.js";

/**
 * How a participant uses a session: the events it reads, and whether it writes. For `getContext` and `withMemory`:
 * `MemoryProvider.limitedWindow().filtered(Authors.include({ roles: ["planner"] })).maxTurns(10)`.
 *
 * Every method returns a new provider. All conditions apply: authors first, then the newest n events, then the newest turns,
 * then the sizes.
 */
export class MemoryProvider {
  private constructor(
    /** The ContextSpec that is sent. */
    readonly spec: ContextSpec,
  ) {}

  /** Reads the active window within the size of the session or the server, and writes. */
  static limitedWindow(): MemoryProvider {
    return MemoryProvider.custom({ mode: ContextMode.READ_WRITE });
  }

  /** Neither reads nor writes. */
  static none(): MemoryProvider {
    return MemoryProvider.custom({ mode: ContextMode.NONE });
  }

  /** Reads; its appends are dropped. */
  static readOnly(): MemoryProvider {
    return MemoryProvider.custom({ mode: ContextMode.READ_ONLY });
  }

  /** Writes; its contexts are empty. */
  static writeOnly(): MemoryProvider {
    return MemoryProvider.custom({ mode: ContextMode.WRITE_ONLY });
  }

  /** A provider from the fields of a ContextSpec, which documents them. */
  static custom(spec: MessageInitShape<typeof ContextSpecSchema>): MemoryProvider {
    return new MemoryProvider(create(ContextSpecSchema, spec));
  }

  /** False if its contexts are empty. */
  get reads(): boolean {
    return this.spec.mode !== ContextMode.NONE && this.spec.mode !== ContextMode.WRITE_ONLY;
  }

  /** False if its appends are dropped. */
  get writes(): boolean {
    return this.spec.mode !== ContextMode.NONE && this.spec.mode !== ContextMode.READ_ONLY;
  }

  /** Reads the same; its appends are dropped. */
  readOnly(): MemoryProvider {
    return this.#with({ mode: ContextMode.READ_ONLY });
  }

  /** Writes; its contexts are empty. */
  writeOnly(): MemoryProvider {
    return this.#with({ mode: ContextMode.WRITE_ONLY });
  }

  /** Only the newest n events, of these authors if there are any, extended back to the start of their turn. */
  readLast(n: number, authors?: Authors): MemoryProvider {
    const last = this.#with({ lastN: n });
    return authors ? last.filtered(authors) : last;
  }

  /** Only events of these authors; a further filter applies to its result. */
  filtered(authors: Authors): MemoryProvider {
    return this.#with({ authorFilters: [...this.spec.authorFilters, ...authors.steps] });
  }

  /** Roles of agents by id, for `filtered`; they override the roles stored with the events. */
  withAuthorRoles(roles: Readonly<Record<string, string>>): MemoryProvider {
    return this.#with({ authorRoles: { ...this.spec.authorRoles, ...roles } });
  }

  /** Only the newest n turns. */
  maxTurns(n: number): MemoryProvider {
    return this.#with({ maxTurns: n });
  }

  /** At most n tokens, by the server's estimate. */
  maxTokens(n: Int): MemoryProvider {
    return this.#with({ maxTokens: BigInt(n) });
  }

  /** At most n bytes of text, reasoning, tool calls and results. */
  maxBytes(n: Int): MemoryProvider {
    return this.#with({ maxBytes: BigInt(n) });
  }

  /** Events that an agent on this branch reads: of the root, the branch itself and its ancestors. */
  onBranch(branch: string): MemoryProvider {
    return this.#with({ branch });
  }

  /** Leaves out the SYSTEM event. */
  withoutSystem(): MemoryProvider {
    return this.#with({ excludeSystem: true });
  }

  #with(changes: MessageInitShape<typeof ContextSpecSchema>): MemoryProvider {
    const { $typeName, ...own } = this.spec;
    return MemoryProvider.custom({ ...own, ...changes } as MessageInitShape<typeof ContextSpecSchema>);
  }
}

/** What a context contains: a provider, or the fields of a ContextSpec. */
export type SpecLike = MemoryProvider | MessageInitShape<typeof ContextSpecSchema>;

/** Returns the spec that is sent; undefined for none. */
export const specOf = (spec: SpecLike | undefined) => (spec instanceof MemoryProvider ? spec.spec : spec);
