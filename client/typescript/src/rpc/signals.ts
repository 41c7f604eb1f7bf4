/**
 * Returns an AbortController for one call that the given signals also abort. Call `release` when the call is over to free it.
 * Replaces AbortSignal.any, whose signals Node 20 retains as long as their sources.
 */
export function link(...given: (AbortSignal | undefined)[]) {
  const controller = new AbortController();
  const signals = given.filter((signal) => signal !== undefined);
  const release = () => signals.forEach((signal) => signal.removeEventListener("abort", follow));
  const abort = (reason?: unknown) => {
    release();
    controller.abort(reason);
  };
  const follow = () => abort(signals.find((signal) => signal.aborted)?.reason);
  for (const signal of signals) signal.addEventListener("abort", follow);
  if (signals.some((signal) => signal.aborted)) follow();
  return { signal: controller.signal, abort, release };
}

/** Waits for the given time or until the signal is aborted. */
export function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}
