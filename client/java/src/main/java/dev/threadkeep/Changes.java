package dev.threadkeep;

import dev.threadkeep.internal.Connection;
import dev.threadkeep.internal.Errors;
import dev.threadkeep.internal.Watch;
import dev.threadkeep.v1.Change;
import io.grpc.Status;
import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * The changes of a {@linkplain SessionHandle#watch() watch}. One thread reads them; any thread may close them. At most
 * eight messages of the server are read ahead. Close it to end the call, preferably with try-with-resources.
 */
public final class Changes implements Iterator<Change>, Iterable<Change>, AutoCloseable {
  /** Signals from other threads to the reader, which alone uses the watch. There are few: the watch limits its frames. */
  private final BlockingQueue<Runnable> news = new LinkedBlockingQueue<>();

  private final Watch watch;
  private volatile boolean closed;

  Changes(Connection connection, Watch.Source<?, ?> source, Duration silence) {
    this.watch = new Watch(connection, source, silence, news::add);
  }

  /**
   * Waits for the next change, without a time limit.
   *
   * @return true, or false once this is closed
   * @throws ThreadkeepException if the watch ended with an error, the client was closed, or the thread was interrupted
   */
  @Override
  public boolean hasNext() {
    if (!watch.isReady()) {
      watch.expectAFrame();
    }
    try {
      while (!watch.isReady() && !closed) {
        advance();
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw Errors.of(Status.Code.CANCELLED, "interrupted while waiting for a change");
    }
    return !closed;
  }

  @Override
  public Change next() {
    if (!hasNext()) {
      throw new NoSuchElementException("the watch is closed");
    }
    return watch.take();
  }

  /**
   * Returns this object, for loops. The changes can be iterated once.
   *
   * @return this object
   */
  @Override
  public Iterator<Change> iterator() {
    return this;
  }

  /**
   * Returns the changes as an infinite stream; closing it closes this.
   *
   * @return a sequential, ordered stream
   */
  public Stream<Change> stream() {
    var spliterator = Spliterators.spliteratorUnknownSize(this, Spliterator.ORDERED | Spliterator.NONNULL);
    return StreamSupport.stream(spliterator, false).onClose(this::close);
  }

  /** Ends the watch immediately; a waiting {@link #hasNext()} returns false. */
  @Override
  public void close() {
    closed = true;
    watch.close();
    news.add(() -> {});
  }

  /** Waits for one signal and handles it. */
  private void advance() throws InterruptedException {
    if (watch.error().isPresent()) {
      throw watch.error().get();
    }
    Runnable reported = news.poll(watch.patience(), TimeUnit.NANOSECONDS);
    if (reported != null) {
      reported.run();
    } else {
      watch.elapsed();
    }
  }
}
