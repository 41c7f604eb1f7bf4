package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.threadkeep.filter.Authors;
import dev.threadkeep.filter.EventFilters;
import dev.threadkeep.filter.MemoryProvider;
import dev.threadkeep.history.ForkOptions;
import dev.threadkeep.history.Point;
import dev.threadkeep.internal.Address;
import dev.threadkeep.internal.RetryPolicy;
import dev.threadkeep.options.AppendOptions;
import dev.threadkeep.options.CreateOptions;
import dev.threadkeep.options.Expect;
import dev.threadkeep.options.SessionsOptions;
import dev.threadkeep.options.Start;
import dev.threadkeep.options.UpdateOptions;
import dev.threadkeep.options.WatchOptions;
import dev.threadkeep.v1.AppendEventsRequest;
import dev.threadkeep.v1.BranchMatch;
import dev.threadkeep.v1.ContextMode;
import dev.threadkeep.v1.ContextSpec;
import dev.threadkeep.v1.CreateIfMissing;
import dev.threadkeep.v1.EventFilter;
import dev.threadkeep.v1.ForkSessionRequest;
import dev.threadkeep.v1.IfExists;
import dev.threadkeep.v1.RewindSessionRequest;
import dev.threadkeep.v1.Role;
import dev.threadkeep.v1.SessionParent;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.StateDelta;
import dev.threadkeep.v1.StatePatch;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import org.junit.jupiter.api.Test;

class OptionsTest {
  private static final SessionRef SESSION = SessionRef.newBuilder().setSessionId("s").build();

  @Test
  void appendOptionsSetTheRequest() {
    var bare = AppendEventsRequest.newBuilder().setSession(SESSION);
    assertEquals(bare.build(), new AppendOptions().request(SESSION, List.of()));
    var all = new AppendOptions().createIfMissing().ifExists(IfExists.IF_EXISTS_IGNORE).expect(Expect.logVersion(3)).expect(Expect.lastEventId(""));
    bare.setCreateIfMissing(CreateIfMissing.getDefaultInstance()).setIfExists(IfExists.IF_EXISTS_IGNORE).setExpectedLastEventId("");
    assertEquals(bare.build(), all.request(SESSION, List.of()));
    assertEquals(3, new AppendOptions().expect(Expect.logVersion(3)).request(SESSION, List.of()).getExpectedLogVersion());
    var changed = new AppendOptions().operationId("a1").state(patch -> patch.putSet("cart", "3")).userState(patch -> patch.addRemove("k")).appState(patch -> {});
    var delta = StateDelta.newBuilder().setSession(StatePatch.newBuilder().putSet("cart", "3")).setUser(StatePatch.newBuilder().addRemove("k")).setApp(StatePatch.newBuilder());
    assertEquals(AppendEventsRequest.newBuilder().setSession(SESSION).setOperationId("a1").setStateDelta(delta).build(), changed.request(SESSION, List.of()));
    assertEquals(Map.of("cart", "3"), new CreateOptions().state("cart", "3").request(SESSION).getStateMap());
    var parent = SessionParent.newBuilder().setUid("u").setAtSeq(2).build();
    assertEquals(parent, new CreateOptions().parent(parent).request(SESSION).getParent());
  }

  @Test
  void updateMasksWhatItSets() {
    var update = new UpdateOptions().labels(Map.of("team", "us")).ttl(Duration.ofMinutes(1)).neverExpires().metadata("").etag("e").request(SESSION);
    assertEquals(List.of("labels", "expiry", "metadata_json"), update.getUpdateMask().getPathsList());
    assertTrue(update.getExpiry().getNeverExpires() && update.getEtag().equals("e"));
    var patch = new UpdateOptions().metadataPatch("{}").setLabel("a", "1").removeLabel("b").request(SESSION);
    assertFalse(patch.hasUpdateMask());
    assertEquals(Map.of("a", "1"), patch.getSetLabelsMap());
    assertEquals(List.of("b"), patch.getRemoveLabelsList());
  }

  @Test
  void forkOptionsSetTheRequest() {
    var bare = new ForkOptions().request(SESSION, "");
    assertEquals(36, bare.getOperationId().length());
    assertEquals(ForkSessionRequest.newBuilder().setSession(SESSION).setOperationId(bare.getOperationId()).build(), bare);
    var all = new ForkOptions().at(Point.seq(2)).at(Point.invocation("i1")).neverExpires().metadata("").label("kind", "retry").withoutParentLabels().contextBytes(0);
    var wanted = ForkSessionRequest.newBuilder().setSession(SESSION).setNewSessionId("again").setAtInvocationId("i1").setMetadataJson("").setContextBytes(0);
    wanted.setOperationId("f1").putLabels("kind", "retry").setWithoutParentLabels(true).getExpiryBuilder().setNeverExpires(true);
    assertEquals(wanted.build(), all.operationId("f1").request(SESSION, "again"));
    assertEquals("u1", new UpdateOptions().operationId("u1").request(SESSION).getOperationId());
    var list = new SessionsOptions().withState().forkedFrom("s").request(SESSION);
    assertTrue(list.getWithState() && list.getForkedFrom().equals("s"));
  }

  @Test
  void pointIsOneFieldOfARequest() {
    for (var each : List.of(Point.seq(3), Point.event("e"), Point.invocation("i"), Point.logVersion(0))) {
      var rewind = RewindSessionRequest.newBuilder();
      each.set(rewind);
      assertEquals(1, rewind.getAllFields().size(), each.toString());
    }
    var rewind = RewindSessionRequest.newBuilder();
    Point.event("e1").set(rewind);
    assertEquals(RewindSessionRequest.newBuilder().setAtEventId("e1").build(), rewind.build());
  }

  @Test
  void watchOptionsAreSet() {
    assertThrows(IllegalArgumentException.class, () -> new WatchOptions().maxRetries(-1));
    assertThrows(IllegalArgumentException.class, () -> new WatchOptions().from(Start.afterSeq(3)).ofAll(SESSION));
    assertEquals(OptionalInt.of(0), new WatchOptions().maxRetries(0).retries());
    assertFalse(new WatchOptions().ofSession(SESSION).hasAfterSeq());
    assertEquals(7, new WatchOptions().from(Start.afterSeq(7)).ofSession(SESSION).getAfterSeq());
    assertEquals("t", new WatchOptions().from(Start.token("t")).ofSession(SESSION).getResumeToken());
    assertTrue(new WatchOptions().from(Start.beginning()).ofAll(SESSION).getFromBeginning());
  }

  @Test
  void filterHasItsConditionsAndThoseOfAnother() {
    var late = Instant.ofEpochSecond(9, 5);
    var first = EventFilters.all().roles(Role.ROLE_USER).toTime(late).afterSeq(3).lastN(5).branch("a").authors(Authors.include(Authors.ids("x")));
    var second = EventFilters.all().roles(Role.ROLE_TOOL).toTime(Instant.ofEpochSecond(8)).keyword("gate").page(0, 2).authors(Authors.exclude(Authors.roles("critic")));
    var both = Authors.include(Authors.ids("x")).then(Authors.exclude(Authors.roles("critic")));
    var merged = EventFilters.all().roles(Role.ROLE_TOOL).toTime(Instant.ofEpochSecond(8)).afterSeq(3).keyword("gate").page(0, 2).branch("a").authors(both);
    assertEquals(merged.build(), EventFilters.of(first.build()).merge(second).build());
    assertEquals(first.build(), EventFilters.of(first.build()).merge(EventFilters.all()).build());
    var rest = EventFilters.all().invocationIds(List.of("i")).nativeFormats(List.of("f")).metadata("k", "v").pattern("a.b");
    assertEquals(rest.build(), EventFilters.all().invocationIds(List.of("j")).pattern("x").merge(rest).build());
    var exact = EventFilters.all().branch("a").merge(EventFilters.all().exactBranch("")).build();
    assertEquals(EventFilter.newBuilder().setBranchMatch(BranchMatch.BRANCH_MATCH_EXACT).build(), exact);
  }

  @Test
  void providerReadsAndWritesByItsMode() {
    var readOnly = MemoryProvider.limitedWindow().withoutWrites().maxTurns(2).readLast(3).filtered(Authors.include(Authors.ids("x")));
    assertTrue(readOnly.reads() && !readOnly.writes());
    assertEquals(ContextMode.CONTEXT_MODE_READ_ONLY, readOnly.spec().getMode());
    assertEquals(List.of(2, 3, 1), List.of(readOnly.spec().getMaxTurns(), readOnly.spec().getLastN(), readOnly.spec().getAuthorFiltersCount()));
    assertTrue(MemoryProvider.writeOnly().writes() && !MemoryProvider.writeOnly().reads());
    assertFalse(MemoryProvider.none().reads() || MemoryProvider.none().writes() || MemoryProvider.writeOnly().withoutWrites().reads());
    assertTrue(MemoryProvider.custom(ContextSpec.getDefaultInstance()).reads() && MemoryProvider.limitedWindow().writes());
  }

  @Test
  void addressAndTokenDefaultToTheEnvironment() {
    var nothing = new ThreadkeepClientBuilder(Map.of());
    assertEquals("127.0.0.1:7443", Address.of(nothing.address).authority());
    assertEquals("", nothing.token);
    var environment = Map.of("THREADKEEP_ADDRESS", "there:1", "THREADKEEP_TOKEN", "secret");
    assertEquals("there:1", new ThreadkeepClientBuilder(environment).address);
    assertEquals("secret", new ThreadkeepClientBuilder(environment).token);
    assertEquals("here:2", new ThreadkeepClientBuilder(environment).address("here:2").address);
    assertEquals("", new ThreadkeepClientBuilder(environment).token("").token);
  }

  @Test
  void retriedMethodsMatchTheProtos() {
    Set<String> methods = new HashSet<>();
    RetryPolicy.retryable().forEach(name -> methods.add(name.get("service") + "/" + name.get("method")));
    assertTrue(methods.contains("threadkeep.v1.EventService/AppendEvents"));
    assertTrue(methods.contains("threadkeep.v1.CompactionService/ApplyCompaction"));
    assertTrue(methods.contains("threadkeep.v1.ConsumerService/DeleteConsumer"));
    assertTrue(methods.contains("threadkeep.v1.ServerService/GetServerInfo"));
    assertTrue(methods.contains("threadkeep.v1.MemoryService/AddMemories"));
    assertTrue(methods.contains("threadkeep.v1.ToolService/CallTool"));
    for (String never : new String[] {"SessionService/CreateSession", "CompactionService/CompactSession", "CompactionService/ReplaceEvents"}) {
      assertFalse(methods.contains("threadkeep.v1." + never), never);
    }
    for (String stream : new String[] {"SubscriptionService/WatchAll", "EventService/AppendStream", "ConsumerService/Consume"}) {
      assertFalse(methods.contains("threadkeep.v1." + stream), stream);
    }
  }
}
