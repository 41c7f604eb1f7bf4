package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.threadkeep.v1.AddMemoriesRequest;
import dev.threadkeep.v1.AddMemoriesResponse;
import dev.threadkeep.v1.AddSessionToMemoryRequest;
import dev.threadkeep.v1.AddSessionToMemoryResponse;
import dev.threadkeep.v1.DeleteMemoriesRequest;
import dev.threadkeep.v1.DeleteMemoriesResponse;
import dev.threadkeep.v1.ListMemoriesRequest;
import dev.threadkeep.v1.ListMemoriesResponse;
import dev.threadkeep.v1.MemoryScope;
import dev.threadkeep.v1.SearchMemoryRequest;
import dev.threadkeep.v1.SearchMemoryResponse;
import io.grpc.Status;
import java.io.IOException;
import java.util.List;
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
}
