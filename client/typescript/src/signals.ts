/**
 * A call's own AbortController, which the signals given also abort. `release` when the call is over, or it is never freed. Not
 * AbortSignal.any: on Node 20 signals made by it are kept for as long as the signals that they follow.
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

/** Waits for so long, or until the signal is aborted. */
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
