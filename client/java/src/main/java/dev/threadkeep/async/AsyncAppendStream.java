package dev.threadkeep.async;

import dev.threadkeep.AppendStream;
import dev.threadkeep.Appended;
import dev.threadkeep.Events;
import dev.threadkeep.ThreadkeepException;
import dev.threadkeep.v1.SessionEvent;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;

/**
 * A stream of appends: each batch is atomic, and its future completes when it is on durable storage. Batches beyond the maximum
 * number wait in memory until there is room: await the futures of earlier ones to send no faster than the server stores. Nothing is
 * retried: to resume a broken stream, send the batches without a result again, with the same {@link Events#withIds}. Any thread may
 * send.
 */
public final class AsyncAppendStream {
  private record Batch(List<SessionEvent> events, CompletableFuture<Appended> outcome) {}

  private final AppendStream stream;
  private final int maxOutstanding;
  private final Queue<Batch> unsent = new ArrayDeque<>();
  private final CompletableFuture<Void> closed = new CompletableFuture<>();
  private int outstanding;
  private boolean closing;

  /** Sends by a stream that always has room. */
  AsyncAppendStream(AppendStream stream, int maxOutstanding) {
    this.stream = stream;
    this.maxOutstanding = maxOutstanding;
  }

  /**
   * Sends one batch, after those that were sent before it. Events without an id get one.
   *
   * @param events events of the batch
   * @return a future of the result; it fails with ThreadkeepException if the batch, or the stream, failed or has ended; canceling it
   *     has no effect on the server
   */
  public CompletableFuture<Appended> send(List<SessionEvent> events) {
    var batch = new Batch(Events.withIds(events), new CompletableFuture<>());
    synchronized (unsent) {
      unsent.add(batch);
    }
    advance();
    return batch.outcome();
  }

  /**
   * Ends the stream after the batches that were sent. Closing twice has no effect.
   *
   * @return a future that completes after the results of all batches; it fails with ThreadkeepException if the stream broke
   */
  public CompletableFuture<Void> close() {
    synchronized (unsent) {
      closing = true;
    }
    advance();
    return closed.copy();
  }

  /** Sends the batches that have room, in order; ends the stream after the last one. */
  private void advance() {
    while (true) {
      Batch batch;
      CompletableFuture<Appended> sent;
      synchronized (unsent) {
        if (closing && unsent.isEmpty()) {
          end();
        }
        if (outstanding >= maxOutstanding || unsent.isEmpty()) {
          return;
        }
        outstanding++;
        batch = unsent.remove();
        sent = dispatch(batch);
      }
      if (sent.isDone()) {
        settle(batch, sent);
      } else {
        sent.whenComplete(
            (appended, error) -> {
              settle(batch, sent);
              advance();
            });
      }
    }
  }

  private CompletableFuture<Appended> dispatch(Batch batch) {
    try {
      return stream.send(batch.events());
    } catch (RuntimeException ended) {
      return CompletableFuture.failedFuture(ended);
    }
  }

  private void settle(Batch batch, CompletableFuture<Appended> sent) {
    synchronized (unsent) {
      outstanding--;
    }
    sent.whenComplete(
        (appended, error) -> {
          if (error == null) {
            batch.outcome().complete(appended);
          } else {
            batch.outcome().completeExceptionally(error);
          }
        });
  }

  private void end() {
    stream
        .closeAsync()
        .whenComplete(
            (nothing, error) -> {
              if (error == null) {
                closed.complete(null);
              } else {
                closed.completeExceptionally(ThreadkeepException.from(error.getCause()));
              }
            });
  }
}
