import { Code } from "@connectrpc/connect";

import { ThreadkeepError } from "./errors.js";

/** Milliseconds: the upper bound of the first pause, which doubles with every failure in a row, and where it stays. */
const FIRST = 100;
const LONGEST = 5000;

/** How long a stream that broke waits before it is opened again: full jitter, so that clients of one server do not return at once. */
export class Backoff {
  #failures = 0;

  /** `maxRetries`: failures in a row that are borne; Infinity for any number. `random`: a number from 0 up to 1. */
  constructor(
    private readonly maxRetries = Infinity,
    private readonly random: () => number = Math.random,
  ) {}

  /** The stream is alive: the failures before it no longer count. */
  reset(): void {
    this.#failures = 0;
  }

  /** Milliseconds to wait after this failure, at least what the server asked for. Throws the error if no retry can mend it. */
  pause(error: unknown): number {
    if (!(error instanceof ThreadkeepError)) throw error;
    if (error.code !== Code.Unavailable && error.retryAfterMs === undefined) throw error;
    if (this.#failures >= this.maxRetries) throw error;
    const longest = Math.min(LONGEST, FIRST * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    return (error.retryAfterMs ?? 0) + this.random() * longest;
  }
}
