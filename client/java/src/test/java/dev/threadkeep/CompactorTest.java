package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Message;
import dev.threadkeep.v1.ApplyCompactionRequest;
import dev.threadkeep.v1.ApplyCompactionResponse;
import dev.threadkeep.v1.CompactionInsert;
import dev.threadkeep.v1.CompactionPlan;
import dev.threadkeep.v1.ErrorReason;
import dev.threadkeep.v1.GetContextResponse;
import dev.threadkeep.v1.PlanCompactionRequest;
import dev.threadkeep.v1.PlanCompactionResponse;
import dev.threadkeep.v1.Role;
import dev.threadkeep.v1.SessionEvent;
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
  private final List<String> requested = new ArrayList<>();
  private final AtomicInteger races = new AtomicInteger();
  private CompactionPlan plan =
      CompactionPlan.newBuilder()
          .addArchiveEventIds("e1")
          .addInserts(CompactionInsert.newBuilder().addEvents(Events.user("Summarize")).addEvents(Events.assistant("")))
          .setSummaryPrompt(SummaryPrompt.newBuilder().setPrompt("what was said").setDigest("d"))
          .setStrategy("recursive_summary")
          .build();
  private FakeServer server;
  private ThreadkeepClient client;

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

  private String summarize(SummaryPrompt prompt) {
    requested.add(prompt.getPrompt());
    return "a summary";
  }

  private ApplyCompactionRequest last() {
    return (ApplyCompactionRequest) server.requests.get(server.requests.size() - 1);
  }

  @Test
  void summaryFillsTheEmptyEventOfThePlan() {
    assertTrue(client.compactWith("s", this::summarize).orElseThrow().getApplied());
    assertEquals(client.ref("s"), last().getSession());
    assertEquals(List.of("what was said"), requested);
    assertEquals("Summarize", Events.textOf(last().getInserts(0).getEvents(0)));
    assertEquals("a summary", Events.textOf(last().getInserts(0).getEvents(1)));
    assertEquals(List.of("e1"), last().getEventIds().getIdsList());
    assertEquals(1, last().getExpectedWindowVersion());
    assertEquals("recursive_summary", last().getStrategy());
    assertEquals(36, last().getCompactionId().length());
  }

  @Test
  void lostRaceIsPlannedAgainWithoutSummarizingTwice() {
    races.set(2);
    assertTrue(client.compactWith(client.ref("s"), this::summarize, null).isPresent());
    assertEquals(1, requested.size());
    assertEquals(6, server.requests.size());
    assertEquals(5, last().getExpectedWindowVersion());
  }

  @Test
  void fiveLostRacesAreAnError() {
    races.set(9);
    var error = assertThrows(ThreadkeepException.class, () -> client.compactWith(client.ref("s"), this::summarize, null));
    assertEquals("VERSION_MISMATCH", error.reasonName());
    assertEquals(10, server.requests.size());
  }

  @Test
  void nothingToCompactCallsNoModel() {
    plan = plan.toBuilder().clearSummaryPrompt().clearInserts().build();
    assertTrue(client.compactWith(client.ref("s"), this::summarize, null).isPresent());
    plan = CompactionPlan.getDefaultInstance();
    assertTrue(client.compactWith(client.ref("s"), this::summarize, null).isEmpty());
    assertEquals(List.of(), requested);
    assertEquals(3, server.requests.size());
  }

  @Test
  void blankSummaryChangesNothing() {
    assertThrows(IllegalArgumentException.class, () -> client.compactWith(client.ref("s"), prompt -> " ", null));
    assertEquals(1, server.requests.size());
  }

  private static final GetContextResponse SEEN =
      GetContextResponse.newBuilder().setFirstSeq(3).setSessionLastSeq(9).setCompactableThroughSeq(6).setWindowVersion(4).build();

  @Test
  void summaryOfAContextReplacesExactlyItsEvents() {
    assertTrue(client.compactContext("s", SEEN, "In short.").getApplied());
    assertEquals(List.of(3L, 6L, 4L), List.of(last().getFromSeq(), last().getThroughSeq(), last().getExpectedWindowVersion()));
    assertEquals(client.ref("s"), last().getSession());
    assertEquals(36, last().getCompactionId().length());
    var turn = last().getInserts(0).getEventsList();
    assertEquals(List.of("Summarize the conversation we had so far.", "In short."), turn.stream().map(Events::textOf).toList());
    assertEquals(List.of(Role.ROLE_USER, Role.ROLE_ASSISTANT), turn.stream().map(event -> event.getMessage().getRole()).toList());
    assertTrue(turn.stream().allMatch(event -> event.getSynthetic() && event.getCompactionSource().equals("summary")));
  }

  @Test
  void insertsForAContextKeepTheirContentAndAreSynthetic() {
    var own = Events.user("Who?").toBuilder().setCompactionSource("mine").build();
    var inserts = CompactionInsert.newBuilder().addEvents(own).addEvents(Events.assistant("Ada."));
    var request = ApplyCompactionRequest.newBuilder().setSession(client.ref("s")).setStrategy("notes").setCompactionId("c1").addInserts(inserts);
    client.compactContext(request.setFromSeq(1).build(), SEEN);
    assertEquals(List.of("mine", "summary"), last().getInserts(0).getEventsList().stream().map(SessionEvent::getCompactionSource).toList());
    assertTrue(last().getInserts(0).getEventsList().stream().allMatch(SessionEvent::getSynthetic));
    assertEquals("c1 3", last().getCompactionId() + " " + last().getFromSeq());
  }

  @Test
  void contextWithoutReplaceableEventsIsRejected() {
    var nothing = SEEN.toBuilder().clearCompactableThroughSeq().build();
    var error = assertThrows(ThreadkeepException.class, () -> client.compactContext("s", nothing, "In short."));
    assertEquals(ErrorReason.ERROR_REASON_NOTHING_TO_COMPACT, error.reason());
    assertTrue(error.getMessage().startsWith("no event of this context may be archived"), error.getMessage());
    assertThrows(IllegalArgumentException.class, () -> client.compactContext("s", SEEN, " "));
    assertEquals(List.of(), server.requests);
  }
}
