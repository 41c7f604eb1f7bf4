package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.threadkeep.v1.AddMemoriesRequest;
import dev.threadkeep.v1.AddMemoriesResponse;
import dev.threadkeep.v1.AddSessionToMemoryRequest;
import dev.threadkeep.v1.AddSessionToMemoryResponse;
import dev.threadkeep.v1.DeleteMemoriesRequest;
import dev.threadkeep.v1.DeleteMemoriesResponse;
import dev.threadkeep.v1.GetMemoriesRequest;
import dev.threadkeep.v1.GetMemoriesResponse;
import dev.threadkeep.v1.GetStateRequest;
import dev.threadkeep.v1.GetStateResponse;
import dev.threadkeep.v1.IfMemoryExists;
import dev.threadkeep.v1.ListMemoriesRequest;
import dev.threadkeep.v1.ListMemoriesResponse;
import dev.threadkeep.v1.MemoryLookup;
import dev.threadkeep.v1.MemoryName;
import dev.threadkeep.v1.MemoryScope;
import dev.threadkeep.v1.MemoryWrite;
import dev.threadkeep.v1.PatchStateRequest;
import dev.threadkeep.v1.PatchStateResponse;
import dev.threadkeep.v1.SearchMemoryRequest;
import dev.threadkeep.v1.SearchMemoryResponse;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.State;
import dev.threadkeep.v1.StatePatch;
import dev.threadkeep.v1.StateScope;
import dev.threadkeep.v1.UpsertMemoriesRequest;
import dev.threadkeep.v1.UpsertMemoriesResponse;
import io.grpc.Status;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class UserMemoryTest {
  private static final MemoryScope OTHER = MemoryScope.newBuilder().setApp("other").setUserId("bob").build();

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

  @Test
  void memoriesAreRetriedWithTheSameIds() {
    server.answer =
        request -> {
          if (server.requests.size() < 3) {
            throw Status.UNAVAILABLE.asRuntimeException();
          }
          return AddMemoriesResponse.getDefaultInstance();
        };
    var given = UserMemory.remember("Likes tea.");
    client.memory().add(given, given.toBuilder().setId("mine").setAuthor("ada").build());
    assertEquals(3, server.requests.size());
    assertEquals(1, server.requests.stream().distinct().count());
    var sent = ((AddMemoriesRequest) server.requests.get(0));
    assertEquals("shop/ada", sent.getScope().getApp() + "/" + sent.getScope().getUserId());
    assertEquals(36, sent.getMemories(0).getId().length());
    assertEquals("mine", sent.getMemories(1).getId());
    assertEquals("Likes tea.", Events.textOf(sent.getMemories(1)));
    assertTrue(given.getId().isEmpty());
  }

  @Test
  void memoryReplacesTheScopeOfRequests() {
    var memory = client.memory(OTHER);
    server.answer = request -> AddSessionToMemoryResponse.getDefaultInstance();
    memory.addSession("s1");
    server.answer = request -> SearchMemoryResponse.getDefaultInstance();
    memory.search("tea");
    memory.search("tea", o -> o.topK(3));
    server.answer = request -> DeleteMemoriesResponse.getDefaultInstance();
    memory.deleteAll();
    var session = ((AddSessionToMemoryRequest) server.requests.get(0)).getSession();
    assertEquals("other/bob/s1", session.getApp() + "/" + session.getUserId() + "/" + session.getSessionId());
    assertEquals(SearchMemoryRequest.newBuilder().setScope(OTHER).setQuery("tea").build(), server.requests.get(1));
    assertEquals(SearchMemoryRequest.newBuilder().setScope(OTHER).setQuery("tea").setTopK(3).build(), server.requests.get(2));
    assertEquals(DeleteMemoriesRequest.newBuilder().setScope(OTHER).setAll(true).build(), server.requests.get(3));
  }

  @Test
  void memoryOfAnotherUserUsesTheClientsApp() {
    server.answer = request -> SearchMemoryResponse.getDefaultInstance();
    client.memory("bob").search("tea");
    var scope = MemoryScope.newBuilder().setApp("shop").setUserId("bob");
    assertEquals(SearchMemoryRequest.newBuilder().setScope(scope).setQuery("tea").build(), server.requests.get(0));
  }

  @Test
  void memoriesAreListedPageByPage() {
    server.answer =
        request -> {
          var page = ListMemoriesResponse.newBuilder();
          boolean first = ((ListMemoriesRequest) request).getPageToken().isEmpty();
          return (first ? page.addEntries(UserMemory.remember("one")).setNextPageToken("more") : page.addEntries(UserMemory.remember("two"))).build();
        };
    var texts = client.memory().list(ListMemoriesRequest.newBuilder().setPageSize(1).build()).stream().map(Events::textOf).toList();
    assertEquals(List.of("one", "two"), texts);
    assertEquals(2, server.requests.size());
  }

  @Test
  void entriesAreUpsertedWithIdsAndLookedUpInSeveralCalls() {
    server.answer = request -> UpsertMemoriesResponse.getDefaultInstance();
    var seat = UserMemory.remember("Window seat.");
    client.memory().upsert(List.of(MemoryWrite.newBuilder().setMemory(seat).setExpectedEtag("").build()), r -> r.setIfExists(IfMemoryExists.IF_MEMORY_EXISTS_IGNORE));
    var upsert = (UpsertMemoriesRequest) server.requests.get(0);
    assertEquals(36, upsert.getWrites(0).getMemory().getId().length());
    assertTrue(upsert.getWrites(0).hasExpectedEtag() && seat.getId().isEmpty());
    assertEquals(IfMemoryExists.IF_MEMORY_EXISTS_IGNORE, upsert.getIfExists());
    var one = MemoryLookup.newBuilder().setEntry(seat);
    var pages = List.of(
        GetMemoriesResponse.newBuilder().addMemories(one).addMemories(MemoryLookup.newBuilder()).addMemories(MemoryLookup.newBuilder().setOmitted(true)),
        GetMemoriesResponse.newBuilder().addMemories(one));
    server.answer = request -> pages.get(server.requests.size() - 2).build();
    var names = Stream.of("1", "2", "3").map(id -> MemoryName.newBuilder().setId(id).build()).toList();
    assertEquals(List.of(Optional.of(seat), Optional.empty(), Optional.of(seat)), client.memory().get(names, r -> r.setRefreshTtl(true)));
    var rest = (GetMemoriesRequest) server.requests.get(2);
    assertEquals(List.of(names.get(2)), rest.getNamesList());
    assertTrue(rest.getRefreshTtl());
  }

  @Test
  void stateIsOfOneVersionAlthoughOthersChangeIt() {
    var pages = List.of(page(1, "a", "a"), page(2, "", "b"), page(2, "b", "a"), page(2, "", "c"));
    server.answer = request -> pages.get(server.requests.size() - 1);
    var state = client.session("trip").state().get();
    assertEquals(State.newBuilder().setVersion(2).putValues("a", "1").putValues("c", "1").build(), state);
    var keys = server.requests.stream().map(request -> ((GetStateRequest) request).getAfterKey()).toList();
    assertEquals(List.of("", "a", "", "b"), keys);
    assertEquals(client.ref("trip"), ((GetStateRequest) server.requests.get(3)).getSession());
  }

  private static GetStateResponse page(long version, String next, String key) {
    return GetStateResponse.newBuilder().setState(State.newBuilder().setVersion(version).putValues(key, "1")).setNextKey(next).build();
  }

  @Test
  void patchIsOfItsScope() {
    server.answer = request -> PatchStateResponse.newBuilder().setVersion(4).build();
    assertEquals(4, client.userState("bob").patch(3, patch -> patch.putSet("cart", "3").addRemove("draft")));
    var ofBob = SessionRef.newBuilder().setApp("shop").setUserId("bob");
    var patch = StatePatch.newBuilder().putSet("cart", "3").addRemove("draft");
    var wanted = PatchStateRequest.newBuilder().setScope(StateScope.STATE_SCOPE_USER).setSession(ofBob).setPatch(patch).setExpectedVersion(3);
    assertEquals(wanted.build(), server.requests.get(0));
    client.appState().patch(change -> change.addRemove("draft"));
    var own = PatchStateRequest.newBuilder().setScope(StateScope.STATE_SCOPE_APP).setSession(SessionRef.newBuilder().setApp("shop"));
    assertEquals(own.setPatch(StatePatch.newBuilder().addRemove("draft")).build(), server.requests.get(1));
  }
}
