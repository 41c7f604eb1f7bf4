package dev.recollect;

import dev.recollect.v1.Change;
import io.grpc.Status;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * The changes that a {@linkplain Recollect#watch(String, WatchOptions) watch} hands out, for one thread to read; any thread may close
 * it. It reads two messages of the server ahead, no more. Close it, best with try-with-resources: that ends the call.
 */
public final class Changes implements Iterator<Change>, Iterable<Change>, AutoCloseable {
  private final Feed<?, ?> feed;
  private Iterator<Change> batch = Collections.emptyIterator();
  private CompletableFuture<List<Change>> coming;

  Changes(Feed<?, ?> feed) {
    this.feed = feed;
    feed.open();
  }

  /**
   * Waits for the next change, for as long as it takes.
   *
   * @return true, or false once this is closed
   * @throws RecollectException if the watch ended with an error, the client was closed, or the thread was interrupted
   */
  @Override
  public boolean hasNext() {
    while (!batch.hasNext()) {
      try {
        coming = coming == null ? feed.next() : coming; // what an interrupted wait left
        batch = coming.get().iterator();
        coming = null;
      } catch (CancellationException closed) {
        return false;
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        throw RecollectException.of(Status.Code.CANCELLED, "interrupted while waiting for a change");
      } catch (ExecutionException error) {
        throw RecollectException.from(error.getCause());
      }
    }
    return true;
  }

  @Override
  public Change next() {
    if (!hasNext()) {
      throw new NoSuchElementException("the watch is closed");
    }
    return batch.next();
  }

  /**
   * This, for loops: there is one pass over the changes, not several.
   *
   * @return this object
   */
  @Override
  public Iterator<Change> iterator() {
    return this;
  }

  /**
   * The changes as a stream without end; closing it closes this.
   *
   * @return a sequential, ordered stream
   */
  public Stream<Change> stream() {
    var spliterator = Spliterators.spliteratorUnknownSize(this, Spliterator.ORDERED | Spliterator.NONNULL);
    return StreamSupport.stream(spliterator, false).onClose(this::close);
  }

  /** Ends the watch at once: who waits in {@link #hasNext()} is told that there is no more. */
  @Override
  public void close() {
    feed.close();
  }
}
