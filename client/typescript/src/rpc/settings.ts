// The settings of the connection that every transport shares.

import type { Interceptor } from "@connectrpc/connect";

/** A token, or a function that returns the current one; it is called before every attempt of a call. */
export type Token = string | (() => string | Promise<string>);

/** Receives what the client does unasked: retries, streams that are reopened, dropped appends, parked deliveries. `console` is one. */
export type Logger = Pick<Console, "debug" | "warn">;

/** The retries of calls that are safe to repeat, while the server is unavailable. */
export interface RetrySettings {
  /** Maximum number of attempts, at least 1; 1 turns retries off. Default: 5. */
  maxAttempts?: number | undefined;
  /** Pause before the first retry, in milliseconds, which doubles with each one. Default: 100. */
  firstPauseMs?: number | undefined;
  /** Maximum pause in milliseconds. Default: 2,000. */
  longestPauseMs?: number | undefined;
}

/** Options of `connect` on every platform. */
export interface ClientOptions {
  /** Address of the server. */
  address?: string | undefined;
  /**
   * Token, sent as "authorization: Bearer"; empty for none. A function is called before every attempt of a call. Without TLS a
   * token is rejected for addresses other than loopback.
   */
  token?: Token | undefined;
  /** Sends the token over a network without TLS too. */
  allowPlaintextToken?: boolean | undefined;
  /**
   * App of the client. With `userId`, it completes sessions that are specified by id alone, and app and user where lists,
   * searches, watches and deletions leave them empty. Specify both or neither, unless the token is bound to a user.
   */
  app?: string | undefined;
  /** User of the client; see `app`. */
  userId?: string | undefined;
  /** Timeout of a call in milliseconds, retries included; 0 for no limit. Streams have no timeout. Default: 30,000. */
  timeoutMs?: number | undefined;
  /** Retries of calls that are safe to repeat; false turns them off. */
  retry?: RetrySettings | false | undefined;
  /** Receives retries, reopened streams, dropped appends and parked deliveries. Default: none. `console` is a logger. */
  logger?: Logger | undefined;
  /** Interceptors of Connect, for example of OpenTelemetry. The first sees a call first; each attempt passes through all. */
  interceptors?: Interceptor[] | undefined;
}

/** The retry settings in full. */
export interface Retries {
  attempts: number;
  firstPause: number;
  longestPause: number;
}

/** Returns the settings with their defaults. Throws TypeError for a number of attempts below 1. */
export function retriesOf(given: RetrySettings | false | undefined): Retries {
  const { maxAttempts = 5, firstPauseMs = 100, longestPauseMs = 2000 } = given === false ? { maxAttempts: 1 } : (given ?? {});
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1) throw new TypeError("retry.maxAttempts must be at least 1");
  return { attempts: maxAttempts, firstPause: firstPauseMs, longestPause: longestPauseMs };
}
