import { ThreadkeepError } from "./errors.js";

/** Milliseconds: the upper bound of the first pause, which doubles with each consecutive failure, and its maximum. */
const FIRST = 100;
const LONGEST = 5000;

/**
 * Computes the pause before a broken stream is reopened, with full jitter, so that the clients of one server do not reconnect
 * at once.
 */
export class Backoff {
  #failures = 0;

  /** `maxRetries`: maximum number of consecutive failures; Infinity for no limit. `random`: returns a number in [0, 1). */
  constructor(
    private readonly maxRetries = Infinity,
    private readonly random: () => number = Math.random,
  ) {}

  /** Resets the count of consecutive failures; called when the stream delivers. */
  reset(): void {
    this.#failures = 0;
  }

  /**
   * Returns the milliseconds to wait after this failure, at least the server's retry delay. Throws the error if a retry cannot
   * succeed.
   */
  pause(error: unknown): number {
    if (!(error instanceof ThreadkeepError)) throw error;
    if (!error.isTransient) throw error;
    if (this.#failures >= this.maxRetries) throw error;
    const longest = Math.min(LONGEST, FIRST * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    return (error.retryAfterMs ?? 0) + this.random() * longest;
  }
}
