package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.Message;
import dev.threadkeep.v1.AppScope;
import dev.threadkeep.v1.ChangeScope;
import dev.threadkeep.v1.DeleteExpiredSessionsRequest;
import dev.threadkeep.v1.DeleteExpiredSessionsResponse;
import dev.threadkeep.v1.ListSessionsRequest;
import dev.threadkeep.v1.ListSessionsResponse;
import dev.threadkeep.v1.SearchEventsRequest;
import dev.threadkeep.v1.SearchEventsResponse;
import dev.threadkeep.v1.SearchMode;
import dev.threadkeep.v1.UserScope;
import dev.threadkeep.v1.WatchAllRequest;
import io.grpc.Status;
import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The client of these tests has the app "shop" and the user "ada". */
@Timeout(30)
class ScopesTest {
  private static final ListSessionsRequest RED = ListSessionsRequest.newBuilder().putLabels("team", "red").build();

  private FakeServer server;
  private ThreadkeepClient client;

  @BeforeEach
  void open() throws IOException {
    server = new FakeServer(0);
    server.answer = ScopesTest::answer;
    client = server.client().build();
  }

  @AfterEach
  void close() throws InterruptedException {
    client.close();
    server.close();
  }

  private static Message answer(Message request) {
    if (request instanceof ListSessionsRequest) {
      return ListSessionsResponse.getDefaultInstance();
    }
    if (request instanceof SearchEventsRequest) {
      return SearchEventsResponse.getDefaultInstance();
    }
    if (request instanceof WatchAllRequest) {
      throw Status.INVALID_ARGUMENT.asRuntimeException(); // a code that watches do not retry
    }
    return DeleteExpiredSessionsResponse.getDefaultInstance();
  }

  private ListSessionsRequest listed(ListSessionsRequest request, All... all) {
    client.sessions(request, all).iterator().hasNext();
    return (ListSessionsRequest) last();
  }

  private SearchEventsRequest searched(SearchEventsRequest.Builder request, All... all) {
    client.search(request.setQuery("hit").build(), all).iterator().hasNext();
    return (SearchEventsRequest) last();
  }

  private ChangeScope followed(ChangeScope.Builder scope, All... all) {
    try (var changes = client.watch(WatchAllRequest.newBuilder().setScope(scope).build(), WatchOptions.DEFAULT, all)) {
      assertThrows(ThreadkeepException.class, changes::hasNext);
    }
    return ((WatchAllRequest) last()).getScope();
  }

  private Message last() {
    return server.requests.get(server.requests.size() - 1);
  }

  @Test
  void listByLabelsUsesTheClientsUserAndApp() {
    assertEquals(RED.toBuilder().setApp("shop").setUserId("ada").build(), listed(RED));
    client.sessions().iterator().hasNext();
    assertEquals(ListSessionsRequest.newBuilder().setApp("shop").setUserId("ada").build(), last());
  }

  @Test
  void listOfAllUsersOrAppsCoversThem() {
    assertEquals(RED.toBuilder().setApp("shop").build(), listed(RED, All.USERS));
    assertEquals(RED.toBuilder().setUserId("ada").build(), listed(RED, All.APPS));
    assertEquals(RED, listed(RED, All.USERS, All.APPS));
  }

  @Test
  void listWithAUserOrAnAppKeepsThem() {
    assertEquals("bob", listed(RED.toBuilder().setUserId("bob").build()).getUserId());
    var withoutApp = RED.toBuilder().setApp("").setUserId("ada").build();
    assertEquals(withoutApp, listed(RED.toBuilder().setApp("").build()));
  }

  @Test
  void deletionOfExpiredSessionsUsesTheClientsUserAndApp() {
    client.deleteExpiredSessions(DeleteExpiredSessionsRequest.getDefaultInstance());
    assertEquals(DeleteExpiredSessionsRequest.newBuilder().setApp("shop").setUserId("ada").build(), last());
    client.deleteExpiredSessions(DeleteExpiredSessionsRequest.getDefaultInstance(), All.USERS, All.APPS);
    assertEquals(DeleteExpiredSessionsRequest.getDefaultInstance(), last());
  }

  @Test
  void watchByLabelsUsesTheClientsUserAndApp() {
    var red = ChangeScope.newBuilder().putLabels("team", "red");
    assertEquals(red.clone().setApp("shop").setUserId("ada").build(), followed(red));
    assertEquals(red.clone().setApp("shop").build(), followed(red, All.USERS));
    assertEquals(red.build(), followed(red, All.USERS, All.APPS));
  }

  @Test
  void searchWithoutAScopeUsesTheClientsUserAndApp() {
    var own = UserScope.newBuilder().setApp("shop").setUserId("ada");
    assertEquals(own.build(), searched(SearchEventsRequest.newBuilder()).getUser());
    assertEquals(own.build(), searched(SearchEventsRequest.newBuilder().setUser(UserScope.getDefaultInstance())).getUser());
    assertEquals(own.setUserId("bob").build(), searched(SearchEventsRequest.newBuilder().setUser(UserScope.newBuilder().setUserId("bob"))).getUser());
    assertEquals(UserScope.newBuilder().setUserId("ada").build(), searched(SearchEventsRequest.newBuilder(), All.APPS).getUser());
  }

  @Test
  void searchOfAllUsersRequiresOneApp() {
    assertEquals(AppScope.newBuilder().setApp("shop").build(), searched(SearchEventsRequest.newBuilder(), All.USERS).getApp());
    var nowhere = SearchEventsRequest.getDefaultInstance();
    assertThrows(IllegalArgumentException.class, () -> client.search(nowhere, All.USERS, All.APPS));
  }

  @Test
  void searchOfASessionOrAnAppKeepsItsScope() {
    var ofSession = SearchEventsRequest.newBuilder().setSession(client.ref("s"));
    assertEquals(client.ref("s"), searched(ofSession).getSession());
    assertEquals(AppScope.getDefaultInstance(), searched(SearchEventsRequest.newBuilder().setApp(AppScope.getDefaultInstance())).getApp());
  }

  @Test
  void searchWithoutAModeSendsNone() {
    client.search("hit").iterator().hasNext();
    assertEquals(SearchMode.SEARCH_MODE_UNSPECIFIED, ((SearchEventsRequest) last()).getMode());
  }
}
