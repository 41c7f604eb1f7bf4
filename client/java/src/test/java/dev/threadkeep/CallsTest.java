package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Message;
import dev.threadkeep.v1.AppendEventsRequest;
import dev.threadkeep.v1.AppendEventsResponse;
import dev.threadkeep.v1.CreateSessionRequest;
import dev.threadkeep.v1.EventServiceGrpc;
import dev.threadkeep.v1.SessionServiceGrpc;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.io.IOException;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class CallsTest {
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

  /** Fails this many times, then succeeds. */
  private void failFirst(int times, Message response) {
    failFirst(Status.UNAVAILABLE, times, response);
  }

  private void failFirst(Status status, int times, Message response) {
    var left = new AtomicInteger(times);
    server.answer =
        request -> {
          if (left.getAndDecrement() > 0) {
            throw status.withDescription("not now").asRuntimeException();
          }
          return response;
        };
  }

  private static CompletableFuture<AppendEventsResponse> appendAsync(ThreadkeepClient client) {
    var request = AppendEventsRequest.newBuilder().setSession(client.ref("s")).addAllEvents(Events.withIds(List.of(Events.user("Hi"))));
    return client.callAsync(EventServiceGrpc.getAppendEventsMethod(), request.build());
  }

  @Test
  void appendIsRetriedWithTheSameIds() {
    failFirst(4, AppendEventsResponse.newBuilder().setLogVersion(1).build());
    assertEquals(1, client.session("s").append(Events.user("Hi"), Events.user("there")).logVersion());
    assertEquals(5, server.requests.size());
    assertEquals(1, server.requests.stream().distinct().count());
    var request = (AppendEventsRequest) server.requests.get(0);
    assertEquals("shop/ada/s", request.getSession().getApp() + "/" + request.getSession().getUserId() + "/" + request.getSession().getSessionId());
    assertEquals(36, request.getEvents(1).getEventId().length());
  }

  @Test
  void largeAppendIsRetried() {
    failFirst(2, AppendEventsResponse.newBuilder().setLogVersion(1).build());
    assertEquals(1, client.session("s").append(Events.user("x".repeat(24 * 1024 * 1024))).logVersion());
    assertEquals(3, server.requests.size());
  }

  @Test
  void callIsSentAtMostFiveTimes() {
    failFirst(9, AppendEventsResponse.getDefaultInstance());
    var error = assertThrows(ThreadkeepException.class, () -> client.session("s").append(Events.user("Hi")));
    assertEquals(Status.Code.UNAVAILABLE, error.code());
    assertEquals(5, server.requests.size());
  }

  /** Breaks the connection this many times, as gRPC reports it, then succeeds. */
  private void breakFirst(int times) {
    var left = new AtomicInteger(times);
    server.answer =
        request -> {
          if (left.getAndDecrement() > 0) {
            throw Status.INTERNAL.withDescription("RST_STREAM closed stream").asRuntimeException();
          }
          return AppendEventsResponse.newBuilder().setLogVersion(1).build();
        };
  }

  @Test
  void callWhoseConnectionBreaksIsSentAtMostFiveTimes() throws Exception {
    breakFirst(4);
    assertEquals(1, client.session("s").append(Events.user("Hi")).logVersion());
    breakFirst(4);
    assertEquals(1, appendAsync(client).get(30, TimeUnit.SECONDS).getLogVersion());
    assertEquals(10, server.requests.size());
    breakFirst(9);
    assertEquals(Status.Code.UNAVAILABLE, assertThrows(ThreadkeepException.class, () -> client.session("s").append(Events.user("Hi"))).code());
    breakFirst(9);
    var failed = assertThrows(ExecutionException.class, () -> appendAsync(client).get(30, TimeUnit.SECONDS));
    assertEquals(Status.Code.UNAVAILABLE, ((ThreadkeepException) failed.getCause()).code());
    assertEquals(20, server.requests.size());
  }

  @Test
  void unsafeCallWhoseConnectionBreaksIsNotRepeated() {
    breakFirst(1);
    var call = client.callAsync(SessionServiceGrpc.getCreateSessionMethod(), CreateSessionRequest.getDefaultInstance());
    assertThrows(ExecutionException.class, () -> call.get(30, TimeUnit.SECONDS));
    assertEquals(1, server.requests.size());
  }

  @Test
  void callThatTheServerCanceledIsRetriedAtMostFiveTimes() {
    failFirst(Status.CANCELLED, 4, AppendEventsResponse.newBuilder().setLogVersion(1).build());
    assertEquals(1, client.session("s").append(Events.user("Hi")).logVersion());
    assertEquals(5, server.requests.size());
    failFirst(Status.CANCELLED, 9, AppendEventsResponse.getDefaultInstance());
    var error = assertThrows(ThreadkeepException.class, () -> client.session("s").append(Events.user("Hi")));
    assertEquals(Status.Code.UNAVAILABLE, error.code());
    assertTrue(error.getMessage().endsWith("canceled the call (not now)"), error.getMessage());
    assertEquals(10, server.requests.size());
  }

  @Test
  void interruptedCallIsCanceledAndNotRetried() throws InterruptedException {
    server.answer = request -> null;
    var codes = new ArrayBlockingQueue<Status.Code>(1);
    var caller =
        new Thread(() -> codes.add(assertThrows(ThreadkeepException.class, () -> client.session("s").append(Events.user("Hi"))).code()));
    caller.start();
    while (server.requests.isEmpty()) {
      TimeUnit.MILLISECONDS.sleep(5);
    }
    caller.interrupt();
    assertEquals(Status.Code.CANCELLED, codes.poll(30, TimeUnit.SECONDS));
    assertEquals(1, server.requests.size());
  }

  @Test
  void unsafeCallIsNotRetried() {
    failFirst(1, AppendEventsResponse.getDefaultInstance());
    var request = CreateSessionRequest.getDefaultInstance();
    assertThrows(ThreadkeepException.class, () -> client.call(SessionServiceGrpc.getCreateSessionMethod(), request));
    assertEquals(1, server.requests.size());
  }

  @Test
  void everyCallSendsTheCredential() {
    client.session("s").append(Events.user("Hi"));
    try (var other = server.client().token("secret").build()) {
      other.session("s").append(Events.user("Hi"));
      appendAsync(other).join();
    }
    assertEquals(List.of("null", "Bearer secret", "Bearer secret"), server.credentials);
  }

  @Test
  void callEndsWithTheTimeout() {
    server.answer = request -> null;
    var brief = client.withTimeout(Duration.ofMillis(100));
    var error = assertThrows(ThreadkeepException.class, () -> brief.session("s").append(Events.user("Hi")));
    assertEquals(Status.Code.DEADLINE_EXCEEDED, error.code());
    assertEquals(Reason.DEADLINE_EXCEEDED, error.reason());
  }

  @Test
  void zeroTimeoutMeansNoLimit() {
    assertEquals(0, client.withTimeout(Duration.ZERO).session("s").append(Events.user("Hi")).logVersion());
  }

  @Test
  void errorsOfFuturesAreTyped() {
    server.answer =
        request -> {
          throw FakeServer.error(Status.Code.NOT_FOUND, "no session", FakeServer.reason("SESSION_NOT_FOUND"));
        };
    var future = appendAsync(client);
    var error = assertThrows(CompletionException.class, future::join).getCause();
    assertEquals(Reason.SESSION_NOT_FOUND, assertInstanceOf(ThreadkeepException.class, error).reason());
  }

  @Test
  void canceledFutureCancelsItsCall() throws InterruptedException {
    server.answer = request -> null;
    var future = appendAsync(client);
    while (server.requests.isEmpty()) {
      TimeUnit.MILLISECONDS.sleep(5);
    }
    assertTrue(future.cancel(true));
    client.close();
    assertTrue(future.isCancelled());
  }

  @Test
  void missingServerIsReportedWithAddressAndRemedy() throws InterruptedException {
    int port = server.port();
    server.close();
    var error = assertThrows(ThreadkeepException.class, () -> client.withTimeout(Duration.ofSeconds(10)).session("s").append(Events.user("Hi")));
    assertEquals(Status.Code.UNAVAILABLE, error.code());
    assertTrue(error.description().startsWith("no server at 127.0.0.1:" + port + " ("), error.getMessage());
    assertTrue(error.getMessage().contains("Connection refused"), error.getMessage());
    assertTrue(error.getMessage().endsWith("start one with `threadkeep serve`, in a checkout `make serve`"), error.getMessage());
  }

  @Test
  void lostServerIsReconnectedQuickly() throws Exception {
    var visits = new AtomicInteger();
    try (var door = new ServerSocket(0)) {
      var porter =
          new Thread(
              () -> {
                while (!door.isClosed()) {
                  try {
                    door.accept().close();
                    visits.incrementAndGet();
                  } catch (IOException closed) {
                    return;
                  }
                }
              });
      porter.setDaemon(true);
      porter.start();
      try (var other = ThreadkeepClient.builder().address("127.0.0.1:" + door.getLocalPort()).token("").build()) {
        var call = appendAsync(other);
        for (int n = 0; n < 400 && visits.get() < 7; n++) {
          TimeUnit.MILLISECONDS.sleep(50);
        }
        assertThrows(CompletionException.class, call::join);
      }
    }
    assertTrue(visits.get() >= 7, visits + " visits; by itself gRPC takes 26 seconds for 7");
  }

  @Test
  void closingFailsActiveAndLaterCalls() throws InterruptedException {
    server.answer = request -> null;
    var future = appendAsync(client);
    while (server.requests.isEmpty()) {
      TimeUnit.MILLISECONDS.sleep(5);
    }
    client.close();
    client.close();
    var error = (ThreadkeepException) assertThrows(CompletionException.class, future::join).getCause();
    assertEquals(Status.Code.CANCELLED, error.code());
    assertEquals("the call was canceled: the client is closed", error.description());
    assertThrows(IllegalStateException.class, () -> client.session("s").append(Events.user("Hi")));
    assertThrows(IllegalStateException.class, () -> client.session("s").watch());
  }

  @Test
  void closedClientLeavesNoThread() throws InterruptedException {
    client.session("s").append(Events.user("Hi"));
    client.session("s").watch();
    while (server.streams.isEmpty()) {
      TimeUnit.MILLISECONDS.sleep(5);
    }
    client.close();
    server.close();
    for (int n = 0; n < 400 && !ours().isEmpty(); n++) { // gRPC keeps its shared threads alive for a second
      TimeUnit.MILLISECONDS.sleep(50);
    }
    assertEquals(List.of(), ours());
  }

  private static List<String> ours() {
    return Thread.getAllStackTraces().keySet().stream().map(Thread::getName).filter(t -> t.matches("(grpc|threadkeep)-.*")).toList();
  }

  @Test
  void retriesAreThoseOfTheBuilder() {
    failFirst(9, AppendEventsResponse.getDefaultInstance());
    for (int attempts : new int[] {1, 2, 7}) {
      server.requests.clear();
      try (var other = server.client().retry(r -> r.maxAttempts(attempts).pauses(Duration.ofMillis(1), Duration.ofMillis(1))).build()) {
        assertThrows(ThreadkeepException.class, () -> other.session("s").append(Events.user("Hi")));
      }
      assertEquals(attempts, server.requests.size());
      failFirst(9, AppendEventsResponse.getDefaultInstance());
    }
  }

  @Test
  void tokenIsSuppliedForEachCallAndInterceptorsSeeIt() {
    var number = new AtomicInteger();
    var methods = new ArrayList<String>();
    var seen = new ClientInterceptor() {
      @Override
      public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
        methods.add(method.getBareMethodName());
        return next.newCall(method, options);
      }
    };
    try (var other = server.client().token(() -> "t" + number.incrementAndGet()).interceptor(seen).build()) {
      other.session("s").append(Events.user("Hi"));
      appendAsync(other).join();
    }
    assertEquals(List.of("Bearer t1", "Bearer t2"), server.credentials);
    assertEquals(List.of("AppendEvents", "AppendEvents"), methods);
    Supplier<String> sealed = () -> {
      throw new IllegalStateException("the vault is sealed");
    };
    try (var other = server.client().token(sealed).build()) {
      var error = assertThrows(ThreadkeepException.class, () -> other.session("s").append(Events.user("Hi")));
      assertEquals(Reason.UNAUTHENTICATED, error.reason());
      assertTrue(error.description().contains("the vault is sealed"), error.description());
    }
    assertThrows(IllegalArgumentException.class, () -> ThreadkeepClient.builder().address("10.0.0.1").token(() -> "t").build());
  }
}
