package dev.threadkeep;

import com.google.protobuf.Any;
import com.google.rpc.ErrorInfo;
import dev.threadkeep.v1.AppendError;
import dev.threadkeep.v1.AppendEventsRequest;
import dev.threadkeep.v1.AppendStreamRequest;
import dev.threadkeep.v1.AppendStreamResponse;
import dev.threadkeep.v1.AppendStreamResult;
import dev.threadkeep.v1.EventServiceGrpc;
import dev.threadkeep.v1.SessionEvent;
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
  private final SessionHandle session;
  private final Connection connection;
  private final Semaphore room;
  private final Queue<CompletableFuture<Appended>> waiting = new ArrayDeque<>();
  private final CompletableFuture<Void> ended = new CompletableFuture<>();
  private final ClientCall<AppendStreamRequest, AppendStreamResponse> call;
  private final Consumer<ThreadkeepException> ending = this::fail;

  AppendStream(SessionHandle session, Connection connection, int maxOutstanding) {
    if (maxOutstanding < 1) {
      throw new IllegalArgumentException("maxOutstanding must be at least 1");
    }
    this.session = session;
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
    if (!session.writes()) {
      return CompletableFuture.completedFuture(session.dropped());
    }
    try {
      room.acquire();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw ThreadkeepException.of(Status.Code.CANCELLED, "interrupted while waiting for room");
    }
    var append = AppendEventsRequest.newBuilder().setSession(session.ref()).addAllEvents(Events.withIds(events));
    var outcome = new CompletableFuture<Appended>();
    synchronized (waiting) {
      if (ended.isDone()) {
        room.release();
        finish();
        throw ThreadkeepException.of(Status.Code.CANCELLED, "the stream is closed");
      }
      waiting.add(outcome);
      call.sendMessage(AppendStreamRequest.newBuilder().setAppend(append).build());
    }
    return outcome;
  }

  /**
   * Ends the stream and waits for the results of all batches. Closing twice has no effect.
   *
   * @throws ThreadkeepException if the stream broke
   */
  @Override
  public void close() {
    synchronized (waiting) {
      if (!ended.isDone()) {
        call.halfClose();
      }
    }
    finish();
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
    room.release();
    if (outcome == null) {
      return;
    }
    if (result.hasError()) {
      outcome.completeExceptionally(failure(result.getError()));
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
      lost = List.copyOf(waiting);
      waiting.clear();
      var how = error == null && !lost.isEmpty() ? ThreadkeepException.of(Status.Code.UNAVAILABLE, "the server ended the stream") : error;
      if (how == null) {
        ended.complete(null);
      } else {
        ended.completeExceptionally(how);
        lost.forEach(outcome -> outcome.completeExceptionally(how));
      }
    }
    room.release(lost.size());
  }

  private static ThreadkeepException failure(AppendError error) {
    var info = ErrorInfo.newBuilder().setDomain(ThreadkeepException.DOMAIN).setReason(error.getReason());
    info.putAllMetadata(error.getMetadataMap());
    var status = Status.fromCodeValue(error.getCode()).withDescription(error.getMessage());
    return new ThreadkeepException(status, List.of(Any.pack(info.build())));
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
