package dev.recollect;

import dev.recollect.v1.Change;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.SynchronizationContext;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Function;

/**
 * The changes of one subscription, a frame at a time, over as many streams as it takes. Of what is not asked for, two frames are read. Everything happens in
 * {@code serial}, so its fields need no locks.
 */
final class Feed<Q, R> implements AutoCloseable {
  /** Without a frame for so long a stream is taken for dead: two heartbeats of the server. */
  static final Duration SILENCE = Duration.ofSeconds(30);

  /** Frames that may wait to be asked for. With one alone server and reader would take turns. */
  private static final int AHEAD = 2;

  /** How to follow: the method, the request that starts after a token ("": where it was told to), and what a frame holds. */
  record Source<Q, R>(MethodDescriptor<Q, R> method, Function<String, Q> request, Function<R, List<Change>> changes) {}

  private final SynchronizationContext serial = new SynchronizationContext((thread, error) -> finish(RecollectException.from(error)));
  private final Connection connection;
  private final Source<Q, R> source;
  private final boolean checkpoints;
  private final Duration silence;
  private final Backoff backoff;
  private final Cursor cursor = new Cursor();
  private final Queue<R> ahead = new ArrayDeque<>();
  private CompletableFuture<List<Change>> wanted;
  private Attempt attempt;
  private RecollectException broken;
  private RuntimeException over;
  private ScheduledFuture<?> timer;
  private Object timed;

  Feed(Connection connection, Source<Q, R> source, WatchOptions options, Duration silence) {
    this.connection = connection;
    this.source = source;
    this.checkpoints = options.checkpoints();
    this.silence = silence;
    this.backoff = new Backoff(options.maxRetries(), new SplittableRandom());
    connection.add(this);
  }

  /** Opens the stream now rather than with the first {@link #next()}. */
  void open() {
    serial.execute(
        () -> {
          if (over == null && attempt == null) {
            attempt = new Attempt();
          }
        });
  }

  /** The next changes, at least one. Ask again only once it has completed. */
  CompletableFuture<List<Change>> next() {
    var asked = new CompletableFuture<List<Change>>();
    serial.execute(
        () -> {
          wanted = asked;
          if (over == null) {
            advance();
          } else {
            tell(over);
          }
        });
    return asked;
  }

  @Override
  public void close() {
    end(new CancellationException("the watch is closed"));
  }

  /** Releases the call; what is asked for, now and later, ends in this way. */
  void end(RuntimeException how) {
    serial.execute(() -> finish(how));
  }

  /** Gives what is wanted from the frames that are there; else waits for more. */
  private void advance() {
    while (!ahead.isEmpty()) {
      List<Change> changes = changesOf(ahead.remove());
      if (attempt != null) {
        attempt.call.request(1);
      }
      if (!changes.isEmpty()) {
        untime();
        var told = wanted;
        wanted = null;
        told.complete(changes);
        return;
      }
    }
    if (broken != null) {
      recover();
      return;
    }
    if (attempt == null) {
      attempt = new Attempt();
    }
    var reading = attempt;
    time(silence, () -> end(reading, RecollectException.of(Status.Code.UNAVAILABLE, quiet())));
  }

  private List<Change> changesOf(R frame) {
    return source.changes().apply(frame).stream().map(cursor::take).flatMap(Optional::stream).filter(this::isAskedFor).toList();
  }

  private String quiet() {
    return "no sign of life from %s for %d s".formatted(connection.address(), silence.toSeconds());
  }

  private void received(Attempt by, R frame) {
    if (by != attempt) {
      return;
    }
    backoff.reset();
    ahead.add(frame);
    if (wanted != null) {
      advance();
    }
  }

  private boolean isAskedFor(Change change) {
    return checkpoints || !change.hasCheckpoint();
  }

  private void end(Attempt which, RecollectException error) {
    if (which != attempt) {
      return;
    }
    release();
    broken = error;
    if (wanted != null) {
      advance();
    }
  }

  private void recover() {
    try {
      Duration pause = backoff.pause(broken);
      broken = null;
      time(pause, this::advance);
    } catch (RecollectException fatal) {
      finish(fatal);
    }
  }

  private void finish(RuntimeException how) {
    if (over == null) {
      over = how;
      release();
      connection.remove(this);
    }
    tell(over);
  }

  private void tell(RuntimeException error) {
    var told = wanted;
    wanted = null;
    if (told != null) {
      told.completeExceptionally(error);
    }
  }

  private void release() {
    untime();
    if (attempt != null) {
      attempt.call.cancel("no longer followed", null);
      attempt = null;
    }
  }

  /** There is one thing at a time to wait for. */
  private void time(Duration delay, Runnable task) {
    untime();
    var set = new Object();
    timed = set;
    timer = connection.after(delay, () -> serial.execute(() -> run(set, task)));
  }

  private void untime() {
    timed = null;
    if (timer != null) {
      timer.cancel(false);
    }
  }

  /** It may have waited behind what made it void. */
  private void run(Object set, Runnable task) {
    if (set == timed) {
      task.run();
    }
  }

  /** One stream. */
  private final class Attempt extends ClientCall.Listener<R> {
    private final ClientCall<Q, R> call = connection.channel().newCall(source.method(), CallOptions.DEFAULT);

    private Attempt() {
      call.start(this, new Metadata());
      call.request(AHEAD);
      call.sendMessage(source.request().apply(cursor.resume()));
      call.halfClose();
    }

    @Override
    public void onMessage(R frame) {
      serial.execute(() -> received(this, frame));
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      var error = status.isOk() ? RecollectException.of(Status.Code.UNAVAILABLE, "the server ended the stream") : connection.failure(status, trailers);
      serial.execute(() -> end(this, error));
    }
  }
}
