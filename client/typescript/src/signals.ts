/** A call's own AbortController, which the signals given also abort. `release` when the call is over, or it is never freed. */
export interface Linked {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  release(): void;
}

/** Not AbortSignal.any: on Node 20 signals made by it are kept for as long as the signals that they follow. */
export function link(...signals: (AbortSignal | undefined)[]): Linked {
  const controller = new AbortController();
  const follow = (event: Event) => controller.abort((event.target as AbortSignal).reason);
  const followed = signals.filter((signal) => signal !== undefined);
  for (const signal of followed) {
    if (signal.aborted) controller.abort(signal.reason);
    else signal.addEventListener("abort", follow, { once: true });
  }
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    release: () => followed.forEach((signal) => signal.removeEventListener("abort", follow)),
  };
}

/** Waits, or rejects with the signal's reason once that is aborted. */
export function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

/**
 * What the promise gives, or the signal's reason as soon as that is aborted. The fetch of Node 20 forgets the signal of an answer
 * that it still reads once the garbage of its request is collected: the read would then never end.
 */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
