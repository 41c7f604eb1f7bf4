package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.threadkeep.async.AsyncThreadkeepClient;
import dev.threadkeep.internal.Connection;
import dev.threadkeep.internal.Watch;
import dev.threadkeep.internal.WatchSubscription;
import dev.threadkeep.options.RetryOptions;
import dev.threadkeep.options.WatchOptions;
import dev.threadkeep.v1.AppendStreamRequest;
import dev.threadkeep.v1.AppendStreamResponse;
import dev.threadkeep.v1.AppendStreamResult;
import dev.threadkeep.v1.Change;
import dev.threadkeep.v1.Checkpoint;
import dev.threadkeep.v1.ListSessionsRequest;
import dev.threadkeep.v1.ListSessionsResponse;
import dev.threadkeep.v1.Session;
import dev.threadkeep.v1.SubscriptionServiceGrpc;
import dev.threadkeep.v1.WatchSessionRequest;
import dev.threadkeep.v1.WatchSessionResponse;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The publishers and the stream of appends of the asynchronous client. */
@Timeout(30)
class AsyncStreamsTest {
  private FakeServer server;
  private AsyncThreadkeepClient client;

  @BeforeEach
  void open() throws IOException {
    server = new FakeServer(0);
    client = server.client().buildAsync();
  }

  @AfterEach
  void close() throws InterruptedException {
    client.close();
    server.close();
  }

  /** A subscriber that requests when the test says so. */
  private static final class Reader<T> implements Flow.Subscriber<T> {
    final BlockingQueue<T> items = new LinkedBlockingQueue<>();
    final CompletableFuture<Void> end = new CompletableFuture<>();
    Flow.Subscription subscription;

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
    }

    @Override
    public void onNext(T item) {
      items.add(item);
    }

    @Override
    public void onError(Throwable error) {
      end.completeExceptionally(error);
    }

    @Override
    public void onComplete() {
      end.complete(null);
    }

    T next() throws InterruptedException {
      subscription.request(1);
      var item = items.poll(10, TimeUnit.SECONDS);
      assertTrue(item != null, "nothing came");
      return item;
    }

    Throwable error() {
      return assertThrows(CompletionException.class, end::join).getCause();
    }
  }

  private static <T> Reader<T> reading(Flow.Publisher<T> publisher) {
    var reader = new Reader<T>();
    publisher.subscribe(reader);
    return reader;
  }

  private ServerCallStreamObserver<WatchSessionResponse> stream() throws InterruptedException {
    var stream = server.streams.poll(10, TimeUnit.SECONDS);
    assertTrue(stream != null, "no stream was opened");
    return stream;
  }

  private static WatchSessionResponse frame(Change.Builder... changes) {
    var frame = WatchSessionResponse.newBuilder();
    for (Change.Builder change : changes) {
      frame.addChanges(change);
    }
    return frame.build();
  }

  /** Answers lists by three pages of two sessions, the second of which is empty. */
  private void listSessions() {
    server.answer =
        request -> {
          String token = ((ListSessionsRequest) request).getPageToken();
          var page = ListSessionsResponse.newBuilder();
          if (!token.equals("2")) {
            page.addSessions(session("a" + token)).addSessions(session("b" + token));
          }
          return page.setNextPageToken(token.isEmpty() ? "2" : token.equals("2") ? "3" : "").build();
        };
  }

  private static Session session(String id) {
    var session = Session.newBuilder();
    session.getRefBuilder().setSessionId(id);
    return session.build();
  }

  @Test
  void pagesAreFetchedWhenTheirItemsAreRequested() throws InterruptedException {
    listSessions();
    var sessions = client.sessions();
    var reader = reading(sessions);
    TimeUnit.MILLISECONDS.sleep(20);
    assertEquals(0, server.requests.size());
    assertEquals("a", reader.next().getRef().getSessionId());
    assertEquals("b", reader.next().getRef().getSessionId());
    assertEquals(1, server.requests.size());
    assertEquals("a3", reader.next().getRef().getSessionId());
    assertEquals(3, server.requests.size());
    assertFalse(reader.end.isDone());
    assertEquals("b3", reader.next().getRef().getSessionId());
    reader.end.join();
    assertEquals(List.of("a", "b", "a3"), sessions.toList(3).join().stream().map(one -> one.getRef().getSessionId()).toList());
    assertEquals(2, sessions.toList(2).join().size());
    assertEquals(7, server.requests.size(), "the page after the limit is not fetched");
    assertEquals(List.of(), sessions.toList(0).join());
    assertThrows(CompletionException.class, () -> sessions.toList(-1).join());
  }

  @Test
  void listFailsWithTheErrorOfItsPage() {
    server.answer =
        request -> {
          throw FakeServer.error(Status.Code.PERMISSION_DENIED, "no", FakeServer.reason("PERMISSION_DENIED"));
        };
    var failed = assertThrows(CompletionException.class, () -> client.sessions().toList().join());
    assertEquals(Reason.PERMISSION_DENIED, assertInstanceOf(ThreadkeepException.class, failed.getCause()).reason());
    listSessions();
    var thrown = assertThrows(CompletionException.class, () -> client.sessions().forEach(one -> {
      throw new UnsupportedOperationException();
    }).join());
    assertInstanceOf(UnsupportedOperationException.class, thrown.getCause());
    assertThrows(IllegalArgumentException.class, () -> client.search("hit", o -> o.allUsers().allApps()));
  }

  @Test
  void canceledListCancelsItsCall() throws InterruptedException {
    server.answer = request -> null;
    var sessions = client.sessions().toList();
    while (server.requests.isEmpty()) {
      TimeUnit.MILLISECONDS.sleep(5);
    }
    sessions.cancel(false);
    while (server.canceled.get() == 0) {
      TimeUnit.MILLISECONDS.sleep(5);
    }
  }

  @Test
  void watchIsOpenBeforeItsFirstRequestAndResumes() throws InterruptedException {
    var reader = reading(client.session("s").watch(WatchOptions::checkpoints));
    var first = stream();
    first.onNext(frame(CursorTest.batch("s", 1, "t1", "a"), CursorTest.batch("s", 2, "t2", "b")));
    first.onNext(frame(Change.newBuilder().setCheckpoint(Checkpoint.getDefaultInstance()).setResumeToken("t3")));
    assertEquals("t1", reader.next().getResumeToken());
    TimeUnit.MILLISECONDS.sleep(20);
    assertTrue(reader.items.isEmpty(), "only what is requested is delivered");
    assertEquals("t2", reader.next().getResumeToken());
    assertEquals("t3", reader.next().getResumeToken());
    reader.subscription.request(2);
    first.onError(Status.UNAVAILABLE.asRuntimeException());
    stream().onNext(frame(CursorTest.batch("s", 2, "t2", "b"), CursorTest.batch("s", 3, "t4", "c")));
    assertEquals("t4", reader.items.poll(10, TimeUnit.SECONDS).getResumeToken());
    assertEquals("t3", ((WatchSessionRequest) server.requests.get(1)).getResumeToken());
    reader.subscription.cancel();
  }

  @Test
  void readAheadIsLimited() throws InterruptedException {
    var reader = reading(client.session("s").watch());
    var stream = stream();
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
    for (int n = 0; n < sent; n++) {
      assertEquals("t", reader.next().getResumeToken());
    }
  }

  @Test
  void otherErrorsAndInvalidRequestsEndTheWatch() throws InterruptedException {
    var reader = reading(client.session("s").watch());
    reader.subscription.request(1);
    stream().onError(FakeServer.error(Status.Code.OUT_OF_RANGE, "too late", FakeServer.reason("RESUME_POSITION_EXPIRED")));
    assertEquals(Reason.RESUME_POSITION_EXPIRED, assertInstanceOf(ThreadkeepException.class, reader.error()).reason());
    var other = reading(client.session("s").watch());
    var stream = stream();
    other.subscription.request(0);
    assertInstanceOf(IllegalArgumentException.class, other.error());
    while (!stream.isCancelled()) {
      TimeUnit.MILLISECONDS.sleep(5);
    }
  }

  @Test
  void cancelingAndClosingEndTheWatch() throws InterruptedException {
    var reader = reading(client.session("s").watch());
    var stream = stream();
    reader.subscription.cancel();
    while (!stream.isCancelled()) {
      TimeUnit.MILLISECONDS.sleep(5);
    }
    var other = reading(client.session("s").watch());
    stream().onError(Status.UNAVAILABLE.asRuntimeException());
    client.close();
    var error = assertInstanceOf(ThreadkeepException.class, other.error());
    assertEquals("the call was canceled: the client is closed", error.description());
    assertFalse(reader.end.isDone());
    assertInstanceOf(IllegalStateException.class, reading(client.session("s").watch()).error());
  }

  @Test
  void silentWatchIsReopened() throws Exception {
    var channel = io.grpc.ManagedChannelBuilder.forAddress("127.0.0.1", server.port()).usePlaintext();
    var connection = new Connection("here", List.of(), new RetryOptions().policy(), channel, configured -> {});
    var method = SubscriptionServiceGrpc.getWatchSessionMethod();
    var options = new WatchOptions();
    var source = new Watch.Source<>(method, options.ofSession(client.ref("s")), WatchSessionResponse::getChangesList, options);
    try (connection) {
      var reader = reading(WatchSubscription.publisher(connection, source, Duration.ofMillis(300)));
      reader.subscription.request(1);
      var silent = stream();
      while (reader.items.isEmpty()) { // on a loaded machine an answer may be late, and its stream is opened again
        var stream = server.streams.poll(50, TimeUnit.MILLISECONDS);
        if (stream != null) {
          stream.onNext(frame(CursorTest.batch("s", 1, "t", "a")));
        }
      }
      while (!silent.isCancelled()) {
        TimeUnit.MILLISECONDS.sleep(5);
      }
    }
  }

  /** Appends batches of one event; others are stale. */
  private void append(AppendStreamRequest request, StreamObserver<AppendStreamResponse> out) {
    var result = AppendStreamResult.newBuilder();
    if (request.getAppend().getEventsCount() == 1) {
      result.getAppendedBuilder().setLastSeq(server.requests.size());
    } else {
      result.getErrorBuilder().setCode(Status.Code.ABORTED.value()).setMessage("stale").setReason("VERSION_MISMATCH");
    }
    out.onNext(AppendStreamResponse.newBuilder().addResults(result).build());
  }

  @Test
  void batchesAreSentInOrderAndEachHasItsResult() {
    server.appended = this::append;
    var stream = client.session("s").appendStream(2);
    var sent = new ArrayList<CompletableFuture<Appended>>();
    for (int n = 0; n < 50; n++) {
      sent.add(stream.send(List.of(Events.user("" + n))));
    }
    var stale = stream.send(List.of(Events.user("one"), Events.user("two")));
    var closed = stream.close();
    for (int n = 0; n < 50; n++) {
      assertEquals(n + 1, sent.get(n).join().lastSeq());
    }
    var error = assertThrows(CompletionException.class, stale::join).getCause();
    assertEquals(Reason.VERSION_MISMATCH, assertInstanceOf(ThreadkeepException.class, error).reason());
    closed.join();
    stream.close().join();
    assertThrows(CompletionException.class, () -> stream.send(List.of(Events.user("late"))).join());
    assertThrows(IllegalArgumentException.class, () -> client.session("s").appendStream(0));
  }

  @Test
  void batchesWaitForRoomAndFailWithTheStream() throws InterruptedException {
    var stream = client.session("s").appendStream(1);
    var sent = List.of(stream.send(List.of(Events.user("one"))), stream.send(List.of(Events.user("two"))));
    while (server.requests.isEmpty()) {
      TimeUnit.MILLISECONDS.sleep(5);
    }
    TimeUnit.MILLISECONDS.sleep(20);
    assertEquals(1, server.requests.size(), "there is no room for the second");
    client.close();
    for (var each : sent) {
      var error = assertThrows(CompletionException.class, each::join).getCause();
      assertEquals(Status.Code.CANCELLED, assertInstanceOf(ThreadkeepException.class, error).code());
    }
    assertThrows(CompletionException.class, () -> stream.close().join());
  }
}
