// Chunks of a stream, gathered while the reader is busy.

/**
 * Iterates over the texts of a stream, each with all that arrived since the last; undefined if nothing arrives for so many
 * milliseconds. If the stream fails, so does the iteration, after what arrived. Leaving the loop cancels the stream.
 */
export async function* gathered(stream: ReadableStream<string>, idleMs: number): AsyncGenerator<string | undefined, void> {
  const reader = stream.getReader();
  let [texts, ended] = [[] as string[], false];
  let wake = () => {};
  const pump = async () => {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        texts.push(value);
        wake();
      }
    } finally {
      ended = true;
      wake();
    }
  };
  const pumped = pump();
  pumped.catch(() => {}); // It is reported below.
  try {
    for (;;) {
      if (texts.length === 0 && !ended) await new Promise<void>((resolve) => {
        const alarm = setTimeout(resolve, idleMs);
        wake = () => {
          clearTimeout(alarm);
          resolve();
        };
      });
      const gathered = texts.join("");
      const none = texts.length === 0;
      texts = [];
      if (!none) yield gathered;
      else if (ended) return await pumped;
      else yield undefined;
    }
  } finally {
    // Not awaited: one of the two streams that another is split into is canceled with the other one.
    if (!ended) void reader.cancel().catch(() => {});
  }
}
