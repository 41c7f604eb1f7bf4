package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Message;
import dev.threadkeep.compaction.Strategies;
import dev.threadkeep.v1.ApplyCompactionRequest;
import dev.threadkeep.v1.ApplyCompactionResponse;
import dev.threadkeep.v1.CompactionInsert;
import dev.threadkeep.v1.CompactionPlan;
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
    assertTrue(client.session("s").compactWith(this::summarize).orElseThrow().getApplied());
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
    assertTrue(client.session("s").compactWith(this::summarize).isPresent());
    assertEquals(1, requested.size());
    assertEquals(6, server.requests.size());
    assertEquals(5, last().getExpectedWindowVersion());
  }

  @Test
  void fiveLostRacesAreAnError() {
    races.set(9);
    var error = assertThrows(ThreadkeepException.class, () -> client.session("s").compactWith(this::summarize));
    assertEquals("VERSION_MISMATCH", error.reasonName());
    assertEquals(10, server.requests.size());
  }

  @Test
  void nothingToCompactCallsNoModel() {
    plan = plan.toBuilder().clearSummaryPrompt().clearInserts().build();
    assertTrue(client.session("s").compactWith(this::summarize).isPresent());
    plan = CompactionPlan.getDefaultInstance();
    assertTrue(client.session("s").compactWith(this::summarize).isEmpty());
    assertEquals(List.of(), requested);
    assertEquals(3, server.requests.size());
  }

  @Test
  void blankSummaryChangesNothing() {
    assertThrows(IllegalArgumentException.class, () -> client.session("s").compactWith(prompt -> " "));
    assertEquals(1, server.requests.size());
  }

  private static final GetContextResponse SEEN =
      GetContextResponse.newBuilder().setFirstSeq(3).setSessionLastSeq(9).setCompactableThroughSeq(6).setWindowVersion(4).build();

  @Test
  void summaryOfAContextReplacesExactlyItsEvents() {
    assertTrue(client.session("s").compactContext(SEEN, "In short.").getApplied());
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
    client.session("s").compactContext(SEEN, List.of(inserts.build()));
    assertEquals(List.of("mine", "summary"), last().getInserts(0).getEventsList().stream().map(SessionEvent::getCompactionSource).toList());
    assertTrue(last().getInserts(0).getEventsList().stream().allMatch(SessionEvent::getSynthetic));
    assertEquals(3, last().getFromSeq());
  }

  @Test
  void contextWithoutReplaceableEventsIsRejected() {
    var nothing = SEEN.toBuilder().clearCompactableThroughSeq().build();
    var error = assertThrows(ThreadkeepException.class, () -> client.session("s").compactContext(nothing, "In short."));
    assertEquals(Reason.NOTHING_TO_COMPACT, error.reason());
    assertTrue(error.description().startsWith("no event of this context may be archived"), error.description());
    assertThrows(IllegalArgumentException.class, () -> client.session("s").compactContext(SEEN, " "));
    assertEquals(List.of(), server.requests);
  }

  @Test
  void aPlanIsAppliedWithTheSummaryWhereItIsMissing() {
    var trip = client.session("s");
    var planned = trip.planCompaction(o -> o.strategy(Strategies.recursiveSummary()).branch("b"));
    trip.applyCompaction(planned.getWindowVersion(), o -> o.plan(planned.getPlan(), "In short."));
    assertEquals(List.of("Summarize", "In short."), last().getInserts(0).getEventsList().stream().map(Events::textOf).toList());
    assertEquals("b", ((PlanCompactionRequest) server.requests.get(0)).getBranch());
    trip.applyCompaction(4, o -> o.archiveThrough(2, 5).insert("e6", List.of(Events.assistant("Mine."))).compactionId("c1"));
    assertEquals("2 5 e6 c1", String.join(" ", "" + last().getFromSeq(), "" + last().getThroughSeq(), last().getInserts(0).getBeforeEventId(), last().getCompactionId()));
  }

  @Test
  void strategiesThatArePlannedElsewhereHaveAName() {
    assertEquals("summaries", Strategies.webhook("summaries").getWebhook().getName());
    assertEquals("compactor", Strategies.compactedBy("compactor").getConsumer().getName());
  }
}
