package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.Message;
import dev.threadkeep.options.ErasureOptions;
import dev.threadkeep.options.SearchOptions;
import dev.threadkeep.options.SessionsOptions;
import dev.threadkeep.options.UsersOptions;
import dev.threadkeep.options.WatchOptions;
import dev.threadkeep.v1.AppScope;
import dev.threadkeep.v1.ChangeScope;
import dev.threadkeep.v1.DeleteByLabelRequest;
import dev.threadkeep.v1.DeleteByLabelResponse;
import dev.threadkeep.v1.DeleteExpiredSessionsRequest;
import dev.threadkeep.v1.DeleteExpiredSessionsResponse;
import dev.threadkeep.v1.DeleteUserRequest;
import dev.threadkeep.v1.DeleteUserResponse;
import dev.threadkeep.v1.ErasureReceipt;
import dev.threadkeep.v1.ListSessionsRequest;
import dev.threadkeep.v1.ListSessionsResponse;
import dev.threadkeep.v1.ListUsersRequest;
import dev.threadkeep.v1.ListUsersResponse;
import dev.threadkeep.v1.SearchEventsRequest;
import dev.threadkeep.v1.SearchEventsResponse;
import dev.threadkeep.v1.SearchMode;
import dev.threadkeep.v1.UserRef;
import dev.threadkeep.v1.UserScope;
import dev.threadkeep.v1.WatchAllRequest;
import io.grpc.Status;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
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
    server.answer = this::answer;
    client = server.client().build();
  }

  @AfterEach
  void close() throws InterruptedException {
    client.close();
    server.close();
  }

  private Message answer(Message request) {
    if (request instanceof DeleteByLabelRequest) {
      long calls = server.requests.size();
      return DeleteByLabelResponse.newBuilder().setReceipt(ErasureReceipt.newBuilder().setDeletedSessions(calls)).setMore(calls < 3).build();
    }
    if (request instanceof DeleteUserRequest) {
      return DeleteUserResponse.getDefaultInstance();
    }
    if (request instanceof ListSessionsRequest) {
      return ListSessionsResponse.getDefaultInstance();
    }
    if (request instanceof ListUsersRequest users) {
      String next = users.getPageToken().isEmpty() ? "more" : "";
      return ListUsersResponse.newBuilder().addUsers(UserRef.newBuilder().setUserId("u" + users.getPageToken())).setNextPageToken(next).build();
    }
    if (request instanceof SearchEventsRequest) {
      return SearchEventsResponse.getDefaultInstance();
    }
    if (request instanceof WatchAllRequest) {
      throw Status.INVALID_ARGUMENT.asRuntimeException(); // a code that watches do not retry
    }
    return DeleteExpiredSessionsResponse.getDefaultInstance();
  }

  private ListSessionsRequest listed(Consumer<SessionsOptions> options) {
    client.sessions(o -> options.accept(o.label("team", "red"))).iterator().hasNext();
    return (ListSessionsRequest) last();
  }

  private SearchEventsRequest searched(Consumer<SearchOptions> options) {
    client.search("hit", options).iterator().hasNext();
    return (SearchEventsRequest) last();
  }

  private ChangeScope followed(Consumer<WatchOptions> options) {
    try (var changes = client.watchAll(o -> options.accept(o.label("team", "red")))) {
      assertThrows(ThreadkeepException.class, changes::hasNext);
    }
    return ((WatchAllRequest) last()).getScope();
  }

  private Message last() {
    return server.requests.get(server.requests.size() - 1);
  }

  @Test
  void listByLabelsUsesTheClientsUserAndApp() {
    assertEquals(RED.toBuilder().setApp("shop").setUserId("ada").build(), listed(o -> {}));
    client.sessions().iterator().hasNext();
    assertEquals(ListSessionsRequest.newBuilder().setApp("shop").setUserId("ada").build(), last());
  }

  @Test
  void usersAreThoseOfTheClientsAppUnlessTheOptionsSayOtherwise() {
    assertEquals(List.of("u", "umore"), client.users(o -> o.pageSize(1)).stream().map(UserRef::getUserId).toList());
    var own = ListUsersRequest.newBuilder().setApp("shop").setPageSize(1).setPageToken("more").build();
    assertEquals(own, last());
    assertEquals("more", client.usersPage(UsersOptions::allApps).getNextPageToken());
    assertEquals(ListUsersRequest.getDefaultInstance(), last());
    client.usersPage(o -> o.allApps().app("").pageToken("t"));
    assertEquals(ListUsersRequest.newBuilder().setApp("").setPageToken("t").build(), last());
  }

  @Test
  void listOfAllUsersOrAppsCoversThem() {
    assertEquals(RED.toBuilder().setApp("shop").build(), listed(SessionsOptions::allUsers));
    assertEquals(RED.toBuilder().setUserId("ada").build(), listed(SessionsOptions::allApps));
    assertEquals(RED, listed(o -> o.allUsers().allApps()));
  }

  @Test
  void listWithAUserOrAnAppKeepsThem() {
    assertEquals("bob", listed(o -> o.userId("bob")).getUserId());
    assertEquals("bob", listed(o -> o.userId("bob").allUsers()).getUserId());
    assertEquals(RED.toBuilder().setApp("").setUserId("ada").build(), listed(o -> o.app("")));
    assertEquals(RED.toBuilder().setApp("travel").setUserId("ada").build(), listed(o -> o.app("travel").allApps()));
  }

  @Test
  void onePageHasItsToken() {
    client.sessionsPage(o -> o.pageSize(2).pageToken("t"));
    assertEquals(ListSessionsRequest.newBuilder().setApp("shop").setUserId("ada").setPageSize(2).setPageToken("t").build(), last());
  }

  @Test
  void deletionsUseTheClientsUserAndApp() {
    client.deleteExpiredSessions(o -> {});
    assertEquals(DeleteExpiredSessionsRequest.newBuilder().setApp("shop").setUserId("ada").build(), last());
    client.deleteExpiredSessions(o -> o.allUsers().allApps());
    assertEquals(DeleteExpiredSessionsRequest.getDefaultInstance(), last());
  }

  @Test
  void erasureIsRepeatedUntilNothingIsLeft() {
    var receipts = new ArrayList<Long>();
    var receipt = client.deleteByLabel(Map.of("team", "red"), o -> o.requestId("r").purgeMemories().progress(r -> receipts.add(r.getDeletedSessions())));
    assertEquals(List.of(1L, 2L, 3L), receipts);
    assertEquals(3, receipt.getDeletedSessions());
    var request = DeleteByLabelRequest.newBuilder().putLabels("team", "red").setApp("shop").setUserId("ada").setRequestId("r").setPurgeMemories(true);
    assertEquals(request.build(), last());
    client.deleteUser("bob", o -> {});
    assertEquals(DeleteUserRequest.newBuilder().setUserId("bob").setApp("shop").build(), last());
    client.deleteUser("bob", ErasureOptions::allApps);
    assertEquals(DeleteUserRequest.newBuilder().setUserId("bob").build(), last());
  }

  @Test
  void watchByLabelsUsesTheClientsUserAndApp() {
    var red = ChangeScope.newBuilder().putLabels("team", "red");
    assertEquals(red.clone().setApp("shop").setUserId("ada").build(), followed(o -> {}));
    assertEquals(red.clone().setApp("shop").build(), followed(WatchOptions::allUsers));
    assertEquals(red.build(), followed(o -> o.allUsers().allApps()));
  }

  @Test
  void searchWithoutAScopeUsesTheClientsUserAndApp() {
    var own = UserScope.newBuilder().setApp("shop").setUserId("ada");
    assertEquals(own.build(), searched(o -> {}).getUser());
    assertEquals(own.setUserId("bob").build(), searched(o -> o.userId("bob")).getUser());
    assertEquals(UserScope.newBuilder().setUserId("ada").build(), searched(SearchOptions::allApps).getUser());
  }

  @Test
  void searchOfAllUsersRequiresOneApp() {
    assertEquals(AppScope.newBuilder().setApp("shop").build(), searched(SearchOptions::allUsers).getApp());
    assertThrows(IllegalArgumentException.class, () -> client.search("hit", o -> o.allUsers().allApps()));
  }

  @Test
  void searchOfASessionKeepsItsScope() {
    client.session("s").search("hit", SearchOptions::allUsers).iterator().hasNext();
    assertEquals(client.ref("s"), ((SearchEventsRequest) last()).getSession());
  }

  @Test
  void searchWithoutAModeSendsNone() {
    assertEquals(SearchMode.SEARCH_MODE_UNSPECIFIED, searched(o -> {}).getMode());
  }
}
