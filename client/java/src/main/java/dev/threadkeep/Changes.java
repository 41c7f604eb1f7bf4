package dev.threadkeep;

import com.google.protobuf.Message;
import dev.threadkeep.internal.Backoff;
import dev.threadkeep.internal.Cursor;
import dev.threadkeep.options.WatchOptions;
import dev.threadkeep.v1.Change;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Queue;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.SplittableRandom;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * The changes of a {@linkplain SessionHandle#watch() watch}. One thread reads them; any thread may close them. At most
 * eight messages of the server are read ahead. Close it to end the call, preferably with try-with-resources.
 */
public final class Changes implements Iterator<Change>, Iterable<Change>, AutoCloseable {
  /** Time without a frame after which a stream is considered dead: two heartbeats of the server. */
  static final Duration SILENCE = Duration.ofSeconds(30);

  /** Maximum number of buffered frames, requested by halves; with one, server and reader would alternate. */
  private static final int AHEAD = 8;

  /** How to watch: the method, the request, and the content of a frame. */
  record Source<Q extends Message, R>(MethodDescriptor<Q, R> method, Q request, Function<R, List<Change>> changes) {}

  private final Connection connection;
  private final Supplier<ClientCall<?, ?>> opening;
  private final boolean checkpoints;
  private final Duration silence;
  private final Backoff backoff;
  private final Cursor cursor = new Cursor();
  private final Queue<Change> ready = new ArrayDeque<>();

  /**
   * Signals from other threads to the reader, which alone accesses fields that are neither final nor volatile. There are few;
   * see AHEAD.
   */
  private final BlockingQueue<Runnable> news = new LinkedBlockingQueue<>();

  /** Makes the reader fail with an error. */
  private final Consumer<ThreadkeepException> ending = how -> news.add(() -> over = how);

  /** The open stream; null between two streams. */
  private volatile ClientCall<?, ?> call;

  private volatile boolean closed;
  private ThreadkeepException over;
  private int frames;

  /** End of the wait for a frame or of the pause between two streams, by nanoTime. */
  private long deadline;

  Changes(Connection connection, Source<?, ?> source, WatchOptions options, Duration silence) {
    this.connection = connection;
    this.opening = () -> open(source);
    this.checkpoints = options.deliversCheckpoints();
    this.silence = silence;
    this.backoff = new Backoff(options.retries(), new SplittableRandom());
    this.call = opening.get();
    connection.add(ending);
  }

  /**
   * Waits for the next change, without a time limit.
   *
   * @return true, or false once this is closed
   * @throws ThreadkeepException if the watch ended with an error, the client was closed, or the thread was interrupted
   */
  @Override
  public boolean hasNext() {
    if (ready.isEmpty() && call != null) {
      expectAFrame();
    }
    try {
      while (ready.isEmpty() && !closed) {
        advance();
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw ThreadkeepException.of(Status.Code.CANCELLED, "interrupted while waiting for a change");
    }
    return !closed;
  }

  @Override
  public Change next() {
    if (!hasNext()) {
      throw new NoSuchElementException("the watch is closed");
    }
    return ready.remove();
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
    release(call);
    connection.remove(ending);
    news.add(() -> {});
  }

  /** Waits for one signal and handles it. */
  private void advance() throws InterruptedException {
    if (over != null) {
      throw over;
    }
    Runnable reported = news.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
    if (reported != null) {
      reported.run();
    } else if (call != null) {
      var quiet = "no heartbeat from %s for %d s".formatted(connection.address(), silence.toSeconds());
      failed(call, ThreadkeepException.of(Status.Code.UNAVAILABLE, quiet));
    } else {
      call = opening.get();
      expectAFrame();
      if (closed) { // by a thread that did not see this call yet
        release(call);
      }
    }
  }

  private void expectAFrame() {
    deadline = System.nanoTime() + silence.toNanos();
  }

  /** Callbacks run on the thread of the connection, so that a frame wakes only the reader. */
  private <Q extends Message, R> ClientCall<Q, R> open(Source<Q, R> source) {
    Q request = Connection.from(source.request(), "resume_token", cursor.resume());
    ClientCall<Q, R> opened = connection.channel().newCall(source.method(), CallOptions.DEFAULT.withExecutor(Runnable::run));
    opened.start(
        new ClientCall.Listener<>() {
          @Override
          public void onMessage(R frame) {
            news.add(() -> received(opened, source.changes().apply(frame)));
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            var ended = ThreadkeepException.of(Status.Code.UNAVAILABLE, "the server ended the stream");
            news.add(() -> failed(opened, status.isOk() ? ended : connection.failure(status, trailers)));
          }
        },
        new Metadata());
    frames = 0;
    opened.request(AHEAD);
    opened.sendMessage(request);
    opened.halfClose();
    return opened;
  }

  private void received(ClientCall<?, ?> by, List<Change> changes) {
    if (by != call) {
      return;
    }
    backoff.reset();
    expectAFrame();
    for (Change part : changes) {
      Optional<Change> change = cursor.take(part);
      if (change.isPresent() && (checkpoints || !part.hasCheckpoint())) {
        ready.add(change.get());
      }
    }
    if (++frames % (AHEAD / 2) == 0) {
      by.request(AHEAD / 2);
    }
  }

  private void failed(ClientCall<?, ?> by, ThreadkeepException error) {
    if (by != call) {
      return;
    }
    release(by);
    call = null;
    Optional<Duration> pause = backoff.pause(error);
    if (pause.isPresent()) {
      Connection.LOG.log(Level.INFO, "the watch is opened again in {0}: {1}", pause.get(), error.getMessage());
      deadline = System.nanoTime() + pause.get().toNanos();
    } else {
      over = error;
      connection.remove(ending);
    }
  }

  private static void release(ClientCall<?, ?> open) {
    if (open != null) {
      open.cancel("no longer followed", null);
    }
  }
}
