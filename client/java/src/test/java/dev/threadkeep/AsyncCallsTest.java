package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Message;
import dev.threadkeep.async.AsyncThreadkeepClient;
import dev.threadkeep.filter.MemoryProvider;
import dev.threadkeep.v1.AppendEventsRequest;
import dev.threadkeep.v1.AppendEventsResponse;
import dev.threadkeep.v1.ApplyCompactionResponse;
import dev.threadkeep.v1.CompactionInsert;
import dev.threadkeep.v1.CompactionPlan;
import dev.threadkeep.v1.CreateSessionResponse;
import dev.threadkeep.v1.DeleteUserResponse;
import dev.threadkeep.v1.ErasureReceipt;
import dev.threadkeep.v1.GetContextResponse;
import dev.threadkeep.v1.GetMemoriesResponse;
import dev.threadkeep.v1.GetStateRequest;
import dev.threadkeep.v1.GetStateResponse;
import dev.threadkeep.v1.MemoryLookup;
import dev.threadkeep.v1.MemoryName;
import dev.threadkeep.v1.PlanCompactionRequest;
import dev.threadkeep.v1.PlanCompactionResponse;
import dev.threadkeep.v1.ReplayParkedChangesResponse;
import dev.threadkeep.v1.State;
import dev.threadkeep.v1.SummaryPrompt;
import io.grpc.Status;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The asynchronous client: its operations are those of the blocking one, so this tests how they run. */
@Timeout(30)
class AsyncCallsTest {
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

  /** Fails this many times, then succeeds. */
  private void failFirst(Status status, int times) {
    var left = new AtomicInteger(times);
    server.answer =
        request -> {
          if (left.getAndDecrement() > 0) {
            throw status.withDescription("not now").asRuntimeException();
          }
          return AppendEventsResponse.newBuilder().setLogVersion(1).build();
        };
  }

  /** Returns what a future fails with. */
  private static <E extends Throwable> E failure(Class<E> kind, CompletableFuture<?> future) {
    var seen = future.<Throwable>handle((value, error) -> error).join();
    assertThrows(CompletionException.class, future::join);
    return assertInstanceOf(kind, seen, "not wrapped");
  }

  private void awaitRequests(int number) throws InterruptedException {
    while (server.requests.size() < number) {
      TimeUnit.MILLISECONDS.sleep(5);
    }
  }

  private void awaitCanceled(int number) throws InterruptedException {
    while (server.canceled.get() < number) {
      TimeUnit.MILLISECONDS.sleep(5);
    }
  }

  @Test
  void appendIsRetriedWithTheSameIds() {
    failFirst(Status.UNAVAILABLE, 4);
    assertEquals(1, client.session("s").append(Events.user("Hi"), Events.user("there")).join().logVersion());
    assertEquals(5, server.requests.size());
    assertEquals(1, server.requests.stream().distinct().count());
    var request = (AppendEventsRequest) server.requests.get(0);
    assertEquals(client.ref("s"), request.getSession());
    assertEquals("shop/ada", request.getSession().getApp() + "/" + request.getSession().getUserId());
    assertEquals(36, request.getEvents(1).getEventId().length());
  }

  @Test
  void callThatTheServerCanceledIsRetriedAtMostFiveTimes() {
    failFirst(Status.CANCELLED, 4);
    assertEquals(1, client.session("s").append(Events.user("Hi")).join().logVersion());
    failFirst(Status.CANCELLED, 9);
    var error = failure(ThreadkeepException.class, client.session("s").append(Events.user("Hi")));
    assertEquals(Status.Code.UNAVAILABLE, error.code());
    assertTrue(error.getMessage().endsWith("canceled the call (not now)"), error.getMessage());
    assertEquals(10, server.requests.size());
  }

  @Test
  void callWhoseConnectionBreaksIsSentAgainUnlessItIsUnsafe() {
    var left = new AtomicInteger(4);
    server.answer =
        request -> {
          if (left.getAndDecrement() > 0) {
            throw Status.INTERNAL.withDescription("RST_STREAM closed stream").asRuntimeException();
          }
          return AppendEventsResponse.getDefaultInstance();
        };
    client.session("s").append(Events.user("Hi")).join();
    assertEquals(5, server.requests.size());
    left.set(1);
    assertEquals(Status.Code.UNAVAILABLE, failure(ThreadkeepException.class, client.session("s").create()).code());
    assertEquals(6, server.requests.size());
  }

  @Test
  void callEndsWithTheTimeout() {
    server.answer = request -> null;
    var brief = client.withTimeout(Duration.ofMillis(100));
    assertEquals(Reason.DEADLINE_EXCEEDED, failure(ThreadkeepException.class, brief.session("s").append(Events.user("Hi"))).reason());
  }

  @Test
  void errorOfTheServerHasItsReason() {
    server.answer =
        request -> {
          throw FakeServer.error(Status.Code.ALREADY_EXISTS, "again", FakeServer.reason("SESSION_ALREADY_EXISTS"));
        };
    assertEquals(Reason.SESSION_ALREADY_EXISTS, failure(ThreadkeepException.class, client.session("s").create(o -> o.label("a", "b"))).reason());
  }

  @Test
  void canceledFutureCancelsItsCall() throws InterruptedException {
    server.answer = request -> null;
    var append = client.session("s").append(Events.user("Hi"));
    awaitRequests(1);
    assertTrue(append.cancel(true));
    awaitCanceled(1);
    assertEquals(1, server.requests.size());
  }

  @Test
  void canceledFutureOfSeveralCallsStartsNoMore() throws InterruptedException {
    server.answer = request -> server.requests.size() == 1 ? page(1, "a", "a") : null;
    var state = client.session("s").state().get();
    awaitRequests(2);
    state.cancel(false);
    awaitCanceled(1);
    assertEquals(2, server.requests.size());
  }

  @Test
  void closingFailsActiveAndLaterCalls() throws InterruptedException {
    server.answer = request -> null;
    var active = client.session("s").append(Events.user("Hi"));
    awaitRequests(1);
    client.close();
    var error = failure(ThreadkeepException.class, active);
    assertEquals(Status.Code.CANCELLED, error.code());
    assertEquals("the call was canceled: the client is closed", error.description());
    failure(IllegalStateException.class, client.session("s").append(Events.user("Hi")));
    failure(IllegalStateException.class, client.sessions().toList());
  }

  @Test
  void invalidArgumentsFailTheFuture() {
    failure(IllegalArgumentException.class, client.searchPage("hit", o -> o.allUsers().allApps()));
    failure(IllegalArgumentException.class, client.session("s").compactContext(GetContextResponse.getDefaultInstance(), " "));
    var nothing = failure(ThreadkeepException.class, client.session("s").compactContext(GetContextResponse.getDefaultInstance(), "In short."));
    assertEquals(Reason.NOTHING_TO_COMPACT, nothing.reason());
    failure(NullPointerException.class, client.session("s").append((dev.threadkeep.v1.SessionEvent) null));
    assertEquals(List.of(), server.requests);
  }

  @Test
  void failureOfTheSupplierOfTheTokenFailsTheFutureAlsoAtARetry() {
    var number = new AtomicInteger();
    server.answer =
        request -> {
          throw Status.INTERNAL.withDescription("RST_STREAM closed stream").asRuntimeException();
        };
    try (var other = server.client().token(() -> {
      if (number.incrementAndGet() > 1) {
        throw new IllegalStateException("the vault is sealed");
      }
      return "t";
    }).buildAsync()) {
      for (int n = 0; n < 2; n++) {
        assertEquals(Reason.UNAUTHENTICATED, failure(ThreadkeepException.class, other.session("s").append(Events.user("Hi"))).reason());
      }
    }
    assertEquals(1, server.requests.size());
  }

  @Test
  void handleThatDoesNotWriteSendsNoAppend() {
    server.answer = request -> GetContextResponse.getDefaultInstance();
    var critic = client.session("s").withMemory(MemoryProvider.readOnly());
    assertTrue(critic.append(Events.user("Hi")).join().dropped());
    var stream = critic.appendStream(1);
    assertTrue(stream.send(List.of(Events.user("Hi"))).join().dropped());
    stream.close().join();
    critic.getContext().join();
    assertEquals(1, server.requests.size());
  }

  @Test
  void stateIsOfOneVersionAlthoughOthersChangeIt() {
    var pages = List.of(page(1, "a", "a"), page(2, "", "b"), page(2, "b", "a"), page(2, "", "c"));
    server.answer = request -> pages.get(server.requests.size() - 1);
    var state = client.session("trip").state().get().join();
    assertEquals(State.newBuilder().setVersion(2).putValues("a", "1").putValues("c", "1").build(), state);
    assertEquals(List.of("", "a", "", "b"), server.requests.stream().map(request -> ((GetStateRequest) request).getAfterKey()).toList());
  }

  private static GetStateResponse page(long version, String next, String key) {
    return GetStateResponse.newBuilder().setState(State.newBuilder().setVersion(version).putValues(key, "1")).setNextKey(next).build();
  }

  @Test
  void memoriesAreLookedUpInAsManyCallsAsTheyNeed() {
    var one = MemoryLookup.newBuilder().setEntry(UserMemory.remember("Window seat."));
    var pages = List.of(
        GetMemoriesResponse.newBuilder().addMemories(one).addMemories(MemoryLookup.newBuilder().setOmitted(true)),
        GetMemoriesResponse.newBuilder().addMemories(MemoryLookup.newBuilder()),
        GetMemoriesResponse.newBuilder());
    server.answer = request -> pages.get(server.requests.size() - 1).build();
    var names = Stream.of("1", "2").map(id -> MemoryName.newBuilder().setId(id).build()).toList();
    assertEquals(List.of(Optional.of(one.getEntry()), Optional.empty()), client.memory().get(names, r -> {}).join());
    failure(IllegalStateException.class, client.memory().get("1"));
  }

  @Test
  void erasureIsRepeatedUntilNothingIsLeft() {
    var receipt = ErasureReceipt.newBuilder().setRequestId("r").build();
    server.answer = request -> DeleteUserResponse.newBuilder().setReceipt(receipt).setMore(server.requests.size() < 3).build();
    var reported = new ArrayList<ErasureReceipt>();
    assertEquals(receipt, client.deleteUser("bob", o -> o.progress(reported::add)).join());
    assertEquals(3, reported.size());
    assertEquals(1, server.requests.stream().distinct().count());
  }

  @Test
  void emptyListOfParkedChangesReplaysNone() {
    server.answer = request -> ReplayParkedChangesResponse.newBuilder().setReplayed(3).build();
    assertEquals(0, client.consumer("c").replayParked(List.of()).join());
    assertEquals(0, server.requests.size());
    assertEquals(3, client.consumer("c").replayParked().join());
  }

  private Message compacted(Message request, AtomicInteger races) {
    if (request instanceof PlanCompactionRequest) {
      var insert = CompactionInsert.newBuilder().addEvents(Events.user("Summarize")).addEvents(Events.assistant(""));
      var plan = CompactionPlan.newBuilder().addArchiveEventIds("e1").addInserts(insert);
      return PlanCompactionResponse.newBuilder().setPlan(plan.setSummaryPrompt(SummaryPrompt.newBuilder().setPrompt("p").setDigest("d"))).build();
    }
    if (races.getAndDecrement() > 0) {
      throw FakeServer.error(Status.Code.ABORTED, "too late", FakeServer.reason("VERSION_MISMATCH"));
    }
    return ApplyCompactionResponse.newBuilder().setApplied(true).build();
  }

  @Test
  void compactionWaitsForTheSummaryAndSurvivesLostRaces() throws InterruptedException {
    var races = new AtomicInteger(2);
    server.answer = request -> compacted(request, races);
    var prompts = new ArrayList<String>();
    var summary = new CompletableFuture<String>();
    var compaction = client.session("s").compactWith(prompt -> {
      prompts.add(prompt.getPrompt());
      return summary;
    });
    awaitRequests(1);
    TimeUnit.MILLISECONDS.sleep(20);
    assertEquals(1, server.requests.size(), "the summary is awaited");
    summary.complete("In short.");
    assertTrue(compaction.join().orElseThrow().getApplied());
    assertEquals(List.of("p"), prompts);
    assertEquals(6, server.requests.size());
    races.set(9);
    assertEquals(Reason.VERSION_MISMATCH, failure(ThreadkeepException.class, client.session("s").compactWith(prompt -> summary)).reason());
  }

  @Test
  void failureOfTheSummaryIsThatOfTheCompaction() {
    server.answer = request -> compacted(request, new AtomicInteger());
    var session = client.session("s");
    var failed = CompletableFuture.<String>failedFuture(new IOException("no model today"));
    assertEquals("no model today", failure(IOException.class, session.compactWith(prompt -> failed)).getMessage());
    failure(IllegalArgumentException.class, session.compactWith(prompt -> CompletableFuture.completedFuture(" ")));
    failure(UnsupportedOperationException.class, session.compactWith(prompt -> {
      throw new UnsupportedOperationException();
    }));
    assertEquals(3, server.requests.size());
  }

  @Test
  void bothClientsHaveOneConnection() {
    server.answer = request -> CreateSessionResponse.getDefaultInstance();
    client.blocking().session("s").create();
    client.blocking().async().session("s").create().join();
    client.blocking().close();
    failure(IllegalStateException.class, client.session("s").create());
    assertEquals(2, server.requests.size());
  }
}
