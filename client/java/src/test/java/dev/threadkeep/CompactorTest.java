package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Message;
import dev.threadkeep.v1.ApplyCompactionRequest;
import dev.threadkeep.v1.ApplyCompactionResponse;
import dev.threadkeep.v1.CompactionInsert;
import dev.threadkeep.v1.CompactionPlan;
import dev.threadkeep.v1.PlanCompactionRequest;
import dev.threadkeep.v1.PlanCompactionResponse;
import dev.threadkeep.v1.SummaryPrompt;
import io.grpc.Status;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class CompactorTest {
  private final List<String> asked = new ArrayList<>();
  private final AtomicInteger races = new AtomicInteger();
  private CompactionPlan plan =
      CompactionPlan.newBuilder()
          .addArchiveEventIds("e1")
          .addInserts(CompactionInsert.newBuilder().addEvents(Events.user("Summarize")).addEvents(Events.assistant("")))
          .setSummaryPrompt(SummaryPrompt.newBuilder().setPrompt("what was said").setDigest("d"))
          .setStrategy("recursive_summary")
          .build();
  private FakeServer server;
  private Threadkeep client;

  @BeforeEach
  void open() throws IOException {
    server = new FakeServer(0);
    server.answer = this::answer;
    client = server.client().build();
  }

  @AfterEach
  void close() throws InterruptedException {
    client.close();
    server.close();
  }

  private Message answer(Message request) {
    if (request instanceof PlanCompactionRequest) {
      return PlanCompactionResponse.newBuilder().setPlan(plan).setWindowVersion(server.requests.size()).build();
    }
    if (races.getAndDecrement() > 0) {
      throw FakeServer.error(Status.Code.ABORTED, "too late", FakeServer.reason("VERSION_MISMATCH"));
    }
    return ApplyCompactionResponse.newBuilder().setApplied(true).build();
  }

  private String summarise(SummaryPrompt prompt) {
    asked.add(prompt.getPrompt());
    return "a summary";
  }

  private ApplyCompactionRequest last() {
    return (ApplyCompactionRequest) server.requests.get(server.requests.size() - 1);
  }

  @Test
  void theSummaryIsPutWhereThePlanLeavesRoom() {
    assertTrue(client.compactWith(client.ref("s"), this::summarise, null).orElseThrow().getApplied());
    assertEquals(List.of("what was said"), asked);
    assertEquals("Summarize", Events.textOf(last().getInserts(0).getEvents(0)));
    assertEquals("a summary", Events.textOf(last().getInserts(0).getEvents(1)));
    assertEquals(List.of("e1"), last().getEventIds().getIdsList());
    assertEquals(1, last().getExpectedWindowVersion());
    assertEquals("recursive_summary", last().getStrategy());
    assertEquals(36, last().getCompactionId().length());
  }

  @Test
  void aLostRaceIsRunAgainWithoutAskingTwice() {
    races.set(2);
    assertTrue(client.compactWith(client.ref("s"), this::summarise, null).isPresent());
    assertEquals(1, asked.size());
    assertEquals(6, server.requests.size());
    assertEquals(5, last().getExpectedWindowVersion());
  }

  @Test
  void fiveLostRacesAreAnError() {
    races.set(9);
    var error = assertThrows(ThreadkeepException.class, () -> client.compactWith(client.ref("s"), this::summarise, null));
    assertEquals("VERSION_MISMATCH", error.reasonName());
    assertEquals(10, server.requests.size());
  }

  @Test
  void noModelIsAskedForNothing() {
    plan = plan.toBuilder().clearSummaryPrompt().clearInserts().build();
    assertTrue(client.compactWith(client.ref("s"), this::summarise, null).isPresent());
    plan = CompactionPlan.getDefaultInstance();
    assertTrue(client.compactWith(client.ref("s"), this::summarise, null).isEmpty());
    assertEquals(List.of(), asked);
    assertEquals(3, server.requests.size());
  }

  @Test
  void aBlankSummaryChangesNothing() {
    assertThrows(IllegalArgumentException.class, () -> client.compactWith(client.ref("s"), prompt -> " ", null));
    assertEquals(1, server.requests.size());
  }
}
