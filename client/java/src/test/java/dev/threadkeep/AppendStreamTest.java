package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.threadkeep.filter.MemoryProvider;
import dev.threadkeep.v1.AppendStreamRequest;
import dev.threadkeep.v1.AppendStreamResponse;
import dev.threadkeep.v1.AppendStreamResult;
import dev.threadkeep.v1.ContextMode;
import dev.threadkeep.v1.GetContextRequest;
import dev.threadkeep.v1.GetContextResponse;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class AppendStreamTest {
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

  /** Appends batches of one event; others are stale. */
  private void answer(AppendStreamRequest request, StreamObserver<AppendStreamResponse> out) {
    var result = AppendStreamResult.newBuilder().setIndex(server.requests.size() - 1);
    if (request.getAppend().getEventsCount() == 1) {
      result.getAppendedBuilder().setLastSeq(server.requests.size());
    } else {
      result.getErrorBuilder().setCode(Status.Code.ABORTED.value()).setMessage("stale").setReason("VERSION_MISMATCH");
    }
    out.onNext(AppendStreamResponse.newBuilder().addResults(result).build());
  }

  @Test
  void eachBatchHasItsResult() {
    server.appended = this::answer;
    try (var stream = client.session("s").appendStream(1)) {
      var first = stream.send(List.of(Events.user("one")));
      var second = stream.send(List.of(Events.user("two"), Events.user("three")));
      var third = stream.send(List.of(Events.user("four")));
      assertEquals(1, first.join().lastSeq());
      var error = assertThrows(CompletionException.class, second::join).getCause();
      assertEquals(Reason.VERSION_MISMATCH, assertInstanceOf(ThreadkeepException.class, error).reason());
      assertEquals(3, third.join().lastSeq());
    }
    var sent = ((AppendStreamRequest) server.requests.get(0)).getAppend();
    assertEquals(36, sent.getEvents(0).getEventId().length());
  }

  @Test
  void sendingWaitsForRoomAndFailsWithTheStream() throws Exception {
    var stream = client.session("s").appendStream(1);
    var first = stream.send(List.of(Events.user("one")));
    var second = java.util.concurrent.CompletableFuture.supplyAsync(() -> stream.send(List.of(Events.user("two"))));
    assertThrows(TimeoutException.class, () -> second.get(50, TimeUnit.MILLISECONDS), "there is no room");
    client.close();
    assertEquals(Status.Code.CANCELLED, ((ThreadkeepException) assertThrows(CompletionException.class, first::join).getCause()).code());
    assertThrows(CompletionException.class, second::join);
    assertThrows(ThreadkeepException.class, stream::close);
  }

  @Test
  void handleThatDoesNotWriteSendsNoAppend() {
    server.answer = request -> GetContextResponse.getDefaultInstance();
    var critic = client.session("s").withMemory(MemoryProvider.readOnly().maxTurns(2));
    assertTrue(critic.append(Events.user("Hi")).dropped());
    try (var stream = critic.appendStream(1)) {
      assertTrue(stream.send(List.of(Events.user("Hi"))).join().dropped());
    }
    critic.getContext();
    assertEquals(1, server.requests.size());
    var spec = ((GetContextRequest) server.requests.get(0)).getSpec();
    assertEquals(ContextMode.CONTEXT_MODE_READ_ONLY, spec.getMode());
    assertEquals(2, spec.getMaxTurns());
  }
}
