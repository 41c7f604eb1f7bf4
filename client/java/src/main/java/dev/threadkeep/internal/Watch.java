package dev.threadkeep.internal;

import com.google.protobuf.Message;
import dev.threadkeep.ThreadkeepException;
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
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The streams of a watch, one after another, and the changes that are ready. Its reader, one thread at a time, calls all methods;
 * other threads only {@link #close()} it. Signals of the connection are passed on for the reader to run.
 */
public final class Watch implements AutoCloseable {
  /** Time without a frame after which a stream is considered dead: two heartbeats of the server. */
  public static final Duration SILENCE = Duration.ofSeconds(30);

  /** Maximum number of buffered frames, requested by halves; with one, server and reader would alternate. */
  private static final int AHEAD = 8;

  /** How to watch: the method, the request, the content of a frame, and the options. */
  public record Source<Q extends Message, R>(MethodDescriptor<Q, R> method, Q request, Function<R, List<Change>> changes, WatchOptions options) {}

  private final Connection connection;
  private final Supplier<ClientCall<?, ?>> opening;
  private final boolean checkpoints;
  private final Duration silence;
  private final Backoff backoff;
  private final Cursor cursor = new Cursor();
  private final Queue<Change> ready = new ArrayDeque<>();

  /** Passes a signal on to the reader. */
  private final Consumer<Runnable> signal;

  /** Makes the reader fail with an error. */
  private final Consumer<ThreadkeepException> ending;

  /** The open stream; null between two streams. */
  private volatile ClientCall<?, ?> call;

  private volatile boolean closed;
  private ThreadkeepException error;
  private int frames;

  /** End of the wait for a frame or of the pause between two streams, by nanoTime. */
  private long deadline;

  /** Opens the first stream. {@code signal} is called by threads of the connection. */
  public Watch(Connection connection, Source<?, ?> source, Duration silence, Consumer<Runnable> signal) {
    this.connection = connection;
    this.opening = () -> open(source);
    this.checkpoints = source.options().deliversCheckpoints();
    this.silence = silence;
    this.backoff = new Backoff(source.options().retries(), new SplittableRandom());
    this.signal = signal;
    this.ending = how -> signal.accept(() -> error = how);
    this.call = opening.get();
    expectAFrame();
    connection.add(ending);
  }

  /** Returns whether a change is ready. */
  public boolean isReady() {
    return !ready.isEmpty();
  }

  /** Returns the next change, which is ready. */
  public Change take() {
    return ready.remove();
  }

  /** Returns why the watch ended, if it did, other than by closing it. */
  public Optional<ThreadkeepException> error() {
    return Optional.ofNullable(error);
  }

  /** Returns the nanoseconds to wait for a signal, before {@link #elapsed()}. */
  public long patience() {
    return deadline - System.nanoTime();
  }

  /** Starts the wait for a frame of an open stream, which has no end while the reader is busy elsewhere. */
  public void expectAFrame() {
    if (call != null) {
      deadline = System.nanoTime() + silence.toNanos();
    }
  }

  /** What happens without a signal in time: the stream is silent, or the pause is over. */
  public void elapsed() {
    if (call != null) {
      var quiet = "no heartbeat from %s for %d s".formatted(connection.address(), silence.toSeconds());
      failed(call, Errors.of(Status.Code.UNAVAILABLE, quiet));
      return;
    }
    call = opening.get();
    expectAFrame();
    if (closed) { // by a thread that did not see this call yet
      release(call);
    }
  }

  /** Ends the watch immediately. */
  @Override
  public void close() {
    closed = true;
    release(call);
    connection.remove(ending);
  }

  /** Callbacks run on the thread of the connection, so that a frame wakes only the reader. */
  private <Q extends Message, R> ClientCall<Q, R> open(Source<Q, R> source) {
    Q request = Protos.from(source.request(), "resume_token", cursor.resume());
    ClientCall<Q, R> opened = connection.channel().newCall(source.method(), CallOptions.DEFAULT.withExecutor(Runnable::run));
    opened.start(
        new ClientCall.Listener<>() {
          @Override
          public void onMessage(R frame) {
            signal.accept(() -> received(opened, source.changes().apply(frame)));
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            var ended = Errors.of(Status.Code.UNAVAILABLE, "the server ended the stream");
            signal.accept(() -> failed(opened, status.isOk() ? ended : connection.failure(status, trailers)));
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

  private void failed(ClientCall<?, ?> by, ThreadkeepException how) {
    if (by != call || closed) {
      return;
    }
    release(by);
    call = null;
    Optional<Duration> pause = backoff.pause(how);
    if (pause.isPresent()) {
      Connection.LOG.log(Level.INFO, "the watch is opened again in {0}: {1}", pause.get(), how.getMessage());
      deadline = System.nanoTime() + pause.get().toNanos();
    } else {
      error = how;
      connection.remove(ending);
    }
  }

  private static void release(ClientCall<?, ?> open) {
    if (open != null) {
      open.cancel("no longer followed", null);
    }
  }
}
