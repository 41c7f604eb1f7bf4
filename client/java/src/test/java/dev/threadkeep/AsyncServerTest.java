package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.threadkeep.async.AsyncSessionHandle;
import dev.threadkeep.async.AsyncThreadkeepClient;
import dev.threadkeep.compaction.CompactionPolicies;
import dev.threadkeep.compaction.Strategies;
import dev.threadkeep.compaction.Triggers;
import dev.threadkeep.history.Point;
import dev.threadkeep.internal.RetryPolicy;
import dev.threadkeep.options.Start;
import dev.threadkeep.v1.Change;
import dev.threadkeep.v1.MemoryName;
import dev.threadkeep.v1.SessionEvent;
import dev.threadkeep.v1.SessionRef;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.MethodDescriptor;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Calls every RPC by the asynchronous client, at the server whose address is in THREADKEEP_TEST_ADDRESS. */
@Timeout(120)
@EnabledIfEnvironmentVariable(named = AsyncServerTest.ADDRESS, matches = ".+")
class AsyncServerTest {
  static final String ADDRESS = "THREADKEEP_TEST_ADDRESS";

  private final Set<String> called = new ConcurrentSkipListSet<>();

  /** An app of this test, so that other data of the server stays. */
  private final String app = "async-" + Events.newEventId();

  private final AsyncThreadkeepClient client =
      ThreadkeepClient.builder().address(System.getenv(ADDRESS)).token("").app(app).userId("ada").interceptor(new Recorder()).buildAsync();

  /** Records the names of the methods that are called. */
  private final class Recorder implements ClientInterceptor {
    @Override
    public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
      called.add(method.getFullMethodName());
      return next.newCall(method, options);
    }
  }

  /** Requests everything and keeps it. */
  private static final class Reader<T> implements Flow.Subscriber<T> {
    final BlockingQueue<T> items = new LinkedBlockingQueue<>();
    Flow.Subscription subscription;

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
      given.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(T item) {
      items.add(item);
    }

    @Override
    public void onError(Throwable error) {
      throw new AssertionError(error);
    }

    @Override
    public void onComplete() {}

    T next() throws InterruptedException {
      var item = items.poll(20, TimeUnit.SECONDS);
      assertTrue(item != null, "nothing came");
      return item;
    }
  }

  @AfterEach
  void close() {
    client.close();
  }

  @Test
  void everyRpcHasAnAsynchronousMethodThatWorks() throws Exception {
    log(client.session("log"));
    window(client.session("window"));
    compactions(client.session("compactions"));
    streams(client.session("streams"));
    states();
    memories();
    consumers();
    server();
    owners();
    var all = RetryPolicy.services().stream().flatMap(service -> service.getMethods().stream()).map(MethodDescriptor::getFullMethodName);
    assertEquals(all.collect(Collectors.toCollection(TreeSet::new)), new TreeSet<>(called));
  }

  private static Reason reason(CompletableFuture<?> failed) {
    var error = assertThrows(CompletionException.class, failed::join).getCause();
    return assertInstanceOf(ThreadkeepException.class, error).reason();
  }

  private static List<String> texts(List<SessionEvent> events) {
    return events.stream().map(Events::textOf).toList();
  }

  private void log(AsyncSessionHandle session) {
    assertEquals(Reason.SESSION_NOT_FOUND, reason(session.get()));
    assertTrue(session.create(o -> o.label("team", "eu")).join().getCreated());
    assertEquals(Reason.SESSION_ALREADY_EXISTS, reason(session.create()));
    assertEquals("red", session.update(o -> o.setLabel("team", "red")).join().getLabelsOrThrow("team"));
    var question = Events.user("Is BA117 on time?").toBuilder().setEventId("q").build();
    var appended = session.append(question).thenCompose(asked -> session.append(Events.assistant("Yes."))).join();
    assertEquals(2, appended.lastSeq());
    assertEquals("Is BA117 on time?", Events.textOf(session.getEvent("q").join()));
    assertEquals(List.of("Is BA117 on time?", "Yes."), texts(session.events(o -> o.pageSize(1)).toList().join()));
    assertEquals(1, session.eventsPage(o -> o.pageSize(1)).join().getEventsCount());
    assertEquals(2, session.getContext().join().getEventsCount());
    assertEquals(2, session.load(r -> {}).join().getEvents().getEventsCount());
    assertEquals(2, session.branches().toList().join().get(0).getEventCount());
    session.usage(r -> {}).toList().join();
    assertEquals("q", session.search("BA117").toList(1).join().get(0).getEvent().getEventId());
    assertFalse(session.callTool("conversation_search", "{\"query\": \"BA117\"}").join().getIsError());
    assertEquals("bob", session.move("bob").join().getRef().getUserId());
  }

  private void window(AsyncSessionHandle session) {
    session.append(List.of(Events.user("a"), Events.user("b"), Events.user("c"), Events.user("d")), o -> o.createIfMissing()).join();
    assertEquals(List.of("d"), texts(session.pop(1).join().getEventsList()));
    assertEquals(1, session.rewind(Point.seq(2)).join().getRemoved());
    assertEquals("copy", session.fork("copy", o -> o.at(Point.seq(1))).join().getSession().getRef().getSessionId());
    var ids = session.getContext().join().getEventsList().stream().map(SessionEvent::getEventId).toList();
    assertEquals(2, session.replaceSuffix(ids, List.of(Events.user("e")), r -> {}).join().getRemoved());
    assertEquals(1, session.eraseEvents(ids.subList(0, 1)).join().getErased());
    long version = session.get().join().getLogVersion();
    assertTrue(session.replaceEvents(List.of(Events.user("f")), version).join().getReplaced());
    assertEquals(1, session.clear(r -> {}).join().getRemoved());
    assertEquals(Reason.VERSION_MISMATCH, reason(session.delete(false, "another")));
    assertTrue(session.delete(false, session.get().join().getUid()).join().getDeleted());
  }

  private void compactions(AsyncSessionHandle session) {
    var turns = List.of(Events.user("a"), Events.assistant("b"), Events.user("c"), Events.assistant("d"));
    session.append(turns, o -> o.createIfMissing()).join();
    assertFalse(session.compact(o -> o.strategy(Strategies.turnWindow(9))).join().getCompacted());
    var planned = session.planCompaction(o -> o.strategy(Strategies.turnWindow(1))).join();
    assertTrue(session.applyCompaction(planned.getWindowVersion(), o -> o.plan(planned.getPlan(), "")).join().getApplied());
    assertEquals(1, session.compactions().toList().join().size());
    var seen = session.getContext().join();
    assertTrue(session.compactContext(seen, "In short.").join().getApplied());
    assertTrue(session.compactWith(prompt -> CompletableFuture.completedFuture("In short."), o -> o.strategy(Strategies.slidingWindow(9))).join().isEmpty());
    session.policy().set(CompactionPolicies.when(Triggers.turnsOver(50), Strategies.turnWindow(20))).join();
    assertEquals(50, session.policy().get().join().getPolicy().getTrigger().getTurnsOver());
    session.policy().remove().join();
    assertFalse(client.userPolicy().get().join().hasPolicy());
  }

  private void streams(AsyncSessionHandle session) throws InterruptedException {
    var all = new Reader<Change>();
    client.watchAll(o -> o.checkpoints().label("team", "blue")).subscribe(all);
    assertTrue(all.next().hasCheckpoint());
    session.create(o -> o.label("team", "blue")).join();
    var changes = new Reader<Change>();
    session.watch(o -> o.from(Start.beginning())).subscribe(changes);
    var stream = session.appendStream(2);
    var sent = List.of("a", "b", "c").stream().map(text -> stream.send(List.of(Events.user(text)))).toList();
    stream.close().join();
    assertEquals(List.of(1L, 2L, 3L), sent.stream().map(each -> each.join().lastSeq()).toList());
    for (String text : List.of("a", "b", "c")) {
      Change change = changes.next();
      while (!change.hasBatch()) {
        change = changes.next();
      }
      assertEquals(List.of(text), texts(change.getBatch().getEventsList()));
    }
    changes.subscription.cancel();
    Change created = all.next();
    while (created.hasCheckpoint()) {
      created = all.next();
    }
    assertEquals("streams", created.getSession().getSessionId());
    all.subscription.cancel();
  }

  private void states() {
    var state = client.session("streams").state();
    assertEquals(1, state.patch(0, patch -> patch.putSet("cart", "3")).join());
    assertEquals("3", state.get().join().getValuesOrThrow("cart"));
    assertEquals(Reason.VERSION_MISMATCH, reason(state.patch(7, patch -> patch.addRemove("cart"))));
    client.userState().patch(patch -> patch.putSet("seat", "\"window\"")).join();
    client.appState().patch(patch -> patch.putSet("open", "true")).join();
    assertEquals("true", client.appState().get().join().getValuesOrThrow("open"));
  }

  private void memories() {
    var memory = client.memory();
    assertEquals(3, memory.addSession("streams").join().getAdded());
    assertEquals(1, memory.add(UserMemory.remember("Prefers a window seat.")).join().getMemoriesCount());
    var seat = UserMemory.remember("Aisle seat.").toBuilder().setId("seat").addNamespace("travel").build();
    memory.upsert(seat).join();
    assertEquals("Aisle seat.", Events.textOf(memory.get("seat", "travel").join().orElseThrow()));
    assertEquals(List.of("travel"), memory.namespaces().toList().join().get(1).getLabelsList());
    assertEquals(1, memory.search("window seat", o -> o.topK(1)).join().getEntriesCount());
    assertEquals(5, memory.list().toList().join().size());
    assertEquals(1, memory.deleteNames(MemoryName.newBuilder().setId("seat").addNamespace("travel").build()).join().getDeleted());
    assertEquals(3, memory.deleteSession("streams").join().getDeleted());
    assertEquals(1, memory.deleteAll().join().getDeleted());
  }

  private void consumers() throws Exception {
    var consumer = client.consumer("indexer-" + Events.newEventId());
    var parks = new AtomicBoolean(true);
    var handled = new LinkedBlockingQueue<Delivery>();
    var run = consumer.run(delivery -> {
      if (parks.getAndSet(false)) {
        return CompletableFuture.failedFuture(new ConsumerHandle.Park("as requested"));
      }
      handled.add(delivery);
      return CompletableFuture.completedFuture(null);
    }, o -> o.fromBeginning().concurrency(1));
    assertTrue(handled.poll(20, TimeUnit.SECONDS) != null, "nothing came");
    while (consumer.parkedPage(0, "").join().getParkedChangesCount() == 0) {
      TimeUnit.MILLISECONDS.sleep(20);
    }
    var parked = consumer.parked().toList().join();
    assertEquals(1, consumer.replayParked(List.of(parked.get(0).getParkedId())).join());
    assertEquals(1, consumer.get().join().getMembersCount());
    assertTrue(client.consumers().toList().join().stream().anyMatch(one -> one.getName().equals(consumer.name())));
    run.stop();
    run.done().get(20, TimeUnit.SECONDS);
    consumer.deleteParked().join();
    assertTrue(consumer.delete().join().getDeleted());
    assertEquals(Reason.CONSUMER_NOT_FOUND, reason(consumer.get()));
  }

  private void server() {
    assertFalse(client.info().join().getVersion().isEmpty());
    assertFalse(client.tools().join().isEmpty());
    assertEquals(Reason.AUDIT_LOG_UNAVAILABLE, reason(client.auditRecordsPage(r -> r.setMethod("DeleteSession"))));
    var retention = client.retention();
    var archived = SessionRef.newBuilder().setApp(app).setUserId("ada").setSessionId("archived").build();
    assertEquals(Reason.RETENTION_NOT_CONFIGURED, reason(retention.run(r -> r.setDryRun(true))));
    assertEquals(Reason.RETENTION_NOT_CONFIGURED, reason(retention.receiptsPage(r -> r.setSessionId("archived"))));
    assertEquals(Reason.RETENTION_NOT_CONFIGURED, reason(retention.restore(archived, "")));
  }

  private void owners() {
    var sessions = client.sessions(o -> o.pageSize(2)).toList().join();
    assertEquals(3, sessions.size());
    assertEquals(1, client.sessionsPage(o -> o.label("team", "blue")).join().getSessionsCount());
    assertEquals(List.of("ada", "bob"), client.users(o -> {}).toList().join().stream().map(user -> user.getUserId()).sorted().toList());
    assertTrue(client.usersPage(o -> o.pageSize(1)).join().getNextPageToken().length() > 0);
    assertTrue(client.userEvents(o -> {}).toList().join().size() > 3);
    assertEquals(1, client.search("BA117", o -> o.userId("bob")).toList(1).join().size());
    assertEquals(1, client.searchPage("BA117", o -> o.userId("bob")).join().getHitsCount());
    assertEquals(0, client.deleteExpiredSessions(o -> {}).join().getDeletedSessions());
    assertEquals(1, client.deleteByLabel(Map.of("team", "blue"), o -> {}).join().getDeletedSessions());
    assertEquals(1, client.deleteUser("bob", o -> {}).join().getDeletedSessions());
    assertEquals(2, client.deleteApp(app, o -> {}).join().getDeletedSessions());
    assertEquals(List.of(), client.sessions(o -> o.allUsers()).toList().join());
  }
}
