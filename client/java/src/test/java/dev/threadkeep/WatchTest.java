package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.threadkeep.internal.Connection;
import dev.threadkeep.internal.Watch;
import dev.threadkeep.options.RetryOptions;
import dev.threadkeep.options.Start;
import dev.threadkeep.options.WatchOptions;
import dev.threadkeep.v1.Change;
import dev.threadkeep.v1.Checkpoint;
import dev.threadkeep.v1.SubscriptionServiceGrpc;
import dev.threadkeep.v1.WatchSessionRequest;
import dev.threadkeep.v1.WatchSessionResponse;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class WatchTest {
  private FakeServer server;
  private ThreadkeepClient client;

  @BeforeEach
  void open() throws IOException {
    server = new FakeServer(0);
    client = server.client().build();
  }

  @AfterEach
  void close() throws InterruptedException {
    client.close();
    server.close();
  }

  private ServerCallStreamObserver<WatchSessionResponse> stream() throws InterruptedException {
    var stream = server.streams.poll(10, TimeUnit.SECONDS);
    assertTrue(stream != null, "no stream was opened");
    return stream;
  }

  private WatchSessionRequest request(int n) {
    return (WatchSessionRequest) server.requests.get(n);
  }

  private Changes watch(Consumer<WatchOptions> options) {
    return client.session("s").watch(o -> options.accept(o.from(Start.beginning())));
  }

  private static WatchSessionResponse frame(Change.Builder... changes) {
    var frame = WatchSessionResponse.newBuilder();
    for (Change.Builder change : changes) {
      frame.addChanges(change);
    }
    return frame.build();
  }

  private static Change.Builder checkpoint(String token) {
    return Change.newBuilder().setCheckpoint(Checkpoint.getDefaultInstance()).setResumeToken(token);
  }

  @Test
  void brokenStreamResumesWithoutRepetitions() throws InterruptedException {
    try (var changes = watch(o -> {})) {
      var first = stream();
      first.onNext(frame(CursorTest.batch("s", 1, "t1", "a"), CursorTest.batch("s", 2, "t2", "b")));
      first.onNext(frame(checkpoint("t3")));
      assertEquals("t1", changes.next().getResumeToken());
      assertEquals("t2", changes.next().getResumeToken());
      TimeUnit.MILLISECONDS.sleep(100);
      first.onError(Status.UNAVAILABLE.asRuntimeException());
      var next = CompletableFuture.supplyAsync(changes::next);
      stream().onNext(frame(CursorTest.batch("s", 2, "t2", "b"), CursorTest.batch("s", 3, "t4", "c")));
      assertEquals("t4", next.join().getResumeToken());
    }
    assertTrue(request(0).hasAfterSeq());
    assertEquals("t3", request(1).getResumeToken(), "a checkpoint's token counts too");
  }

  @Test
  void endedStreamIsReopened() throws InterruptedException {
    try (var changes = client.session("s").watch()) {
      var next = CompletableFuture.supplyAsync(changes::next);
      stream().onCompleted();
      stream().onError(Status.CANCELLED.asRuntimeException());
      stream().onError(FakeServer.error(Status.Code.UNAVAILABLE, "shutting down", FakeServer.reason("SERVER_DRAINING")));
      stream().onNext(frame(CursorTest.batch("s", 1, "t", "a")));
      assertEquals("t", next.join().getResumeToken());
    }
  }

  @Test
  void otherErrorsEndTheWatch() throws InterruptedException {
    try (var changes = client.session("s").watch()) {
      var expired = FakeServer.error(Status.Code.OUT_OF_RANGE, "too late", FakeServer.reason("RESUME_POSITION_EXPIRED"));
      var stream = stream();
      stream.onNext(frame(CursorTest.batch("s", 1, "t", "a")));
      stream.onError(expired);
      assertEquals("t", changes.next().getResumeToken());
      for (int n = 0; n < 2; n++) {
        var error = assertThrows(ThreadkeepException.class, changes::hasNext);
        assertEquals(Reason.RESUME_POSITION_EXPIRED, error.reason());
      }
    }
    assertEquals(1, server.requests.size());
  }

  @Test
  void consecutiveFailuresAreCounted() throws InterruptedException {
    try (var changes = watch(o -> o.maxRetries(2))) {
      var failure = CompletableFuture.supplyAsync(() -> assertThrows(ThreadkeepException.class, changes::hasNext));
      for (int n = 0; n < 3; n++) {
        stream().onError(Status.UNAVAILABLE.asRuntimeException());
      }
      assertEquals(Status.Code.UNAVAILABLE, failure.join().code());
    }
    assertEquals(3, server.requests.size());
  }

  @Test
  void checkpointsAreDeliveredOnRequest() throws InterruptedException {
    try (var changes = watch(WatchOptions::checkpoints)) {
      stream().onNext(frame(checkpoint("t1")));
      assertTrue(changes.next().hasCheckpoint());
    }
  }

  @Test
  void silentStreamIsReopened() throws Exception {
    var channel = io.grpc.ManagedChannelBuilder.forAddress("127.0.0.1", server.port()).usePlaintext();
    var connection = new Connection("here", List.of(), new RetryOptions().policy(), channel, configured -> {});
    var request = new WatchOptions().ofSession(client.ref("s"));
    var method = SubscriptionServiceGrpc.getWatchSessionMethod();
    var source = new Watch.Source<>(method, request, WatchSessionResponse::getChangesList, new WatchOptions());
    try (connection; var changes = new Changes(connection, source, Duration.ofMillis(300))) {
      var next = CompletableFuture.supplyAsync(changes::next);
      var silent = stream();
      while (!next.isDone()) { // on a loaded machine an answer may be late, and its stream is opened again
        var stream = server.streams.poll(50, TimeUnit.MILLISECONDS);
        if (stream != null) {
          stream.onNext(frame(CursorTest.batch("s", 1, "t", "a")));
        }
      }
      assertEquals("t", next.join().getResumeToken());
      while (!silent.isCancelled()) {
        TimeUnit.MILLISECONDS.sleep(5);
      }
    }
  }

  @Test
  void closingEndsTheWaitAndTheCall() throws Exception {
    var changes = client.session("s").watch();
    var stream = stream();
    var waiting = CompletableFuture.supplyAsync(changes::hasNext);
    TimeUnit.MILLISECONDS.sleep(50);
    changes.close();
    assertFalse(waiting.get(25, TimeUnit.SECONDS));
    while (!stream.isCancelled()) {
      TimeUnit.MILLISECONDS.sleep(5);
    }
  }

  @Test
  void closingTheClientEndsAWatchInItsPause() throws Exception {
    var changes = client.session("s").watch();
    var waiting = CompletableFuture.supplyAsync(() -> assertThrows(ThreadkeepException.class, changes::hasNext));
    for (int n = 0; n < 4; n++) {
      stream().onError(Status.UNAVAILABLE.asRuntimeException());
    }
    client.close();
    var error = waiting.get(25, TimeUnit.SECONDS);
    assertEquals(Status.Code.CANCELLED, error.code());
    assertEquals("the call was canceled: the client is closed", error.description());
  }

  @Test
  void readAheadIsLimited() throws InterruptedException {
    try (var changes = client.session("s").watch()) {
      int sent = fill(stream());
      for (int n = 0; n < sent; n++) {
        assertEquals("t", changes.next().getResumeToken());
      }
    }
  }

  /** Sends changes of 1 MiB until the flow-control windows of HTTP/2 stay full; returns their number. */
  private static int fill(ServerCallStreamObserver<WatchSessionResponse> stream) throws InterruptedException {
    String megabyte = "x".repeat(1 << 20);
    int sent = 0;
    for (int quiet = 0; quiet < 20; ) {
      if (stream.isReady()) {
        stream.onNext(frame(CursorTest.batch("s", ++sent, "t", megabyte)));
        quiet = 0;
      } else {
        TimeUnit.MILLISECONDS.sleep(20);
        quiet++;
      }
      assertTrue(sent < 32, "the server could send " + sent + " MiB without a request for more");
    }
    return sent;
  }

  @Test
  void interruptedThreadStopsWaiting() throws Exception {
    try (var changes = client.session("s").watch()) {
      Thread.currentThread().interrupt();
      assertThrows(ThreadkeepException.class, changes::hasNext);
      assertTrue(Thread.interrupted());
      stream().onNext(frame(CursorTest.batch("s", 1, "t", "a")));
      assertEquals("t", changes.next().getResumeToken(), "nothing was lost");
    }
  }
}
