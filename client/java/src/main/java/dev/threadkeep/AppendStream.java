package dev.threadkeep;

import com.google.protobuf.Any;
import dev.threadkeep.filter.MemoryProvider;
import dev.threadkeep.internal.Connection;
import dev.threadkeep.internal.Errors;
import dev.threadkeep.internal.operations.SessionOperations;
import dev.threadkeep.v1.AppendEventsRequest;
import dev.threadkeep.v1.AppendStreamRequest;
import dev.threadkeep.v1.AppendStreamResponse;
import dev.threadkeep.v1.AppendStreamResult;
import dev.threadkeep.v1.EventServiceGrpc;
import dev.threadkeep.v1.SessionEvent;
import dev.threadkeep.v1.SessionRef;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;

/**
 * A stream of appends: each batch is atomic, and its future completes when it is on durable storage. Nothing is retried: to
 * resume a broken stream, send the batches without a result again, with the same {@link Events#withIds}. Any thread may send.
 */
public final class AppendStream implements AutoCloseable {
  private final SessionRef ref;
  private final MemoryProvider memory;
  private final Connection connection;
  private final Semaphore room;
  private final Queue<CompletableFuture<Appended>> waiting = new ArrayDeque<>();
  private final CompletableFuture<Void> ended = new CompletableFuture<>();
  private final ClientCall<AppendStreamRequest, AppendStreamResponse> call;
  private final Consumer<ThreadkeepException> ending = this::fail;
  private boolean closing;
  private boolean over;

  /** Opens a stream; a null provider is none. */
  AppendStream(Connection connection, SessionRef ref, MemoryProvider memory, int maxOutstanding) {
    if (maxOutstanding < 1) {
      throw new IllegalArgumentException("maxOutstanding must be at least 1");
    }
    this.ref = ref;
    this.memory = memory;
    this.connection = connection;
    this.room = new Semaphore(maxOutstanding);
    this.call = connection.channel().newCall(EventServiceGrpc.getAppendStreamMethod(), CallOptions.DEFAULT);
    connection.add(ending);
    call.start(new Results(), new Metadata());
    call.request(1);
  }

  /**
   * Sends one batch; waits while the maximum number of batches waits for a result. Events without an id get one.
   *
   * @param events events of the batch
   * @return a future of the result; it fails with ThreadkeepException if the batch, or the stream, failed
   * @throws ThreadkeepException if the stream has ended, or the thread was interrupted
   */
  public CompletableFuture<Appended> send(List<SessionEvent> events) {
    if (!SessionOperations.writes(memory)) {
      return CompletableFuture.completedFuture(SessionOperations.dropped(ref));
    }
    try {
      room.acquire();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw Errors.of(Status.Code.CANCELLED, "interrupted while waiting for room");
    }
    var append = AppendEventsRequest.newBuilder().setSession(ref).addAllEvents(Events.withIds(events));
    var outcome = new CompletableFuture<Appended>();
    boolean ends;
    synchronized (waiting) {
      ends = over;
      if (!over && !closing) {
        waiting.add(outcome);
        call.sendMessage(AppendStreamRequest.newBuilder().setAppend(append).build());
        return outcome;
      }
    }
    room.release();
    if (ends) {
      finish();
    }
    throw Errors.of(Status.Code.CANCELLED, "the stream is closed");
  }

  /**
   * Ends the stream and waits for the results of all batches. Closing twice has no effect.
   *
   * @throws ThreadkeepException if the stream broke
   */
  @Override
  public void close() {
    closeAsync();
    finish();
  }

  /**
   * Ends the stream like {@link #close()}, without waiting.
   *
   * @return a future that completes after the results of all batches; it fails with ThreadkeepException if the stream broke
   */
  public CompletableFuture<Void> closeAsync() {
    synchronized (waiting) {
      if (!over && !closing) {
        closing = true;
        call.halfClose();
      }
    }
    return ended.copy();
  }

  private void finish() {
    try {
      ended.join();
    } catch (CompletionException failure) {
      throw ThreadkeepException.from(failure.getCause());
    }
  }

  private void settle(AppendStreamResult result) {
    CompletableFuture<Appended> outcome;
    synchronized (waiting) {
      outcome = waiting.poll();
    }
    if (outcome == null) {
      return;
    }
    room.release();
    if (result.hasError()) {
      outcome.completeExceptionally(Errors.of(result.getError()));
    } else {
      outcome.complete(new Appended(result.getAppended(), false));
    }
  }

  private void fail(ThreadkeepException error) {
    call.cancel(error.description(), null);
    end(error);
  }

  /** Ends the stream; null means as it should. */
  private void end(ThreadkeepException error) {
    connection.remove(ending);
    List<CompletableFuture<Appended>> lost;
    synchronized (waiting) {
      over = true;
      lost = List.copyOf(waiting);
      waiting.clear();
    }
    var how = error == null && !lost.isEmpty() ? Errors.of(Status.Code.UNAVAILABLE, "the server ended the stream") : error;
    if (how == null) {
      ended.complete(null);
    } else {
      ended.completeExceptionally(how);
      lost.forEach(outcome -> outcome.completeExceptionally(how));
    }
    room.release(lost.size());
  }

  private final class Results extends ClientCall.Listener<AppendStreamResponse> {
    @Override
    public void onMessage(AppendStreamResponse response) {
      response.getResultsList().forEach(AppendStream.this::settle);
      call.request(1);
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      end(status.isOk() ? null : connection.failure(status, trailers));
    }
  }
}
