package dev.threadkeep.adk;

import com.google.adk.events.Event;
import com.google.adk.memory.BaseMemoryService;
import com.google.adk.memory.MemoryEntry;
import com.google.adk.memory.SearchMemoryResponse;
import com.google.adk.sessions.Session;
import com.google.genai.types.Content;
import dev.threadkeep.Reason;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.ThreadkeepException;
import dev.threadkeep.UserMemory;
import dev.threadkeep.options.MemorySearchOptions;
import dev.threadkeep.v1.IfMemoryExists;
import dev.threadkeep.v1.MemoryScope;
import dev.threadkeep.v1.MemoryWrite;
import dev.threadkeep.v1.Part;
import dev.threadkeep.v1.SessionEvent;
import io.reactivex.rxjava3.core.Completable;
import io.reactivex.rxjava3.core.Single;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * The memory service of ADK on a Threadkeep server. The address and the token are the client's; the app and the user are those of
 * ADK's calls. To add a session again adds only what is new, and what was deleted stays deleted.
 *
 * <p>Calls are made when their result is subscribed to, and fail with {@link ThreadkeepException}. The service is thread-safe and valid
 * as long as its client, which it does not close.
 */
public final class ThreadkeepMemoryService implements BaseMemoryService {
  private static final int LONGEST_QUERY = 1024;
  private static final int ENTRIES_AT_ONCE = 100;
  private static final int MOST_FOUND = 10;

  private final ThreadkeepClient client;
  private final Consumer<MemorySearchOptions> search;

  /**
   * Creates the service, without a call. A search returns at most 10 memories.
   *
   * @param client client whose address and token are used
   */
  public ThreadkeepMemoryService(ThreadkeepClient client) {
    this(client, o -> {});
  }

  /**
   * Creates the service, without a call.
   *
   * @param client client whose address and token are used
   * @param search options of its searches, such as {@code o -> o.topK(50).mode(SearchMode.SEARCH_MODE_SEMANTIC)}
   */
  public ThreadkeepMemoryService(ThreadkeepClient client, Consumer<MemorySearchOptions> search) {
    this.client = Objects.requireNonNull(client, "client cannot be null");
    this.search = Objects.requireNonNull(search, "search cannot be null");
  }

  /**
   * Adds the events of a session that have text, without reasoning. Of a session that Threadkeep keeps, these are all of its events; of
   * another one, those that the object has.
   *
   * @param session the session
   */
  @Override
  public Completable addSessionToMemory(Session session) {
    Objects.requireNonNull(session, "session cannot be null");
    return Rx.single(() -> {
      UserMemory memory = memory(session.appName(), session.userId());
      try {
        memory.addSession(session.id());
      } catch (ThreadkeepException error) {
        if (error.reason() != Reason.SESSION_NOT_FOUND) {
          throw error;
        }
        addEvents(memory, session);
      }
      return session;
    }).ignoreElement();
  }

  /**
   * Returns the memories that match a query, best first. Of a longer query, the first 1,024 characters count; a blank one finds nothing.
   *
   * @param appName name of the app
   * @param userId id of the user
   * @param query what is searched
   * @return the memories
   */
  @Override
  public Single<SearchMemoryResponse> searchMemory(String appName, String userId, String query) {
    int length = query.codePointCount(0, query.length());
    String cut = length <= LONGEST_QUERY ? query : query.substring(0, query.offsetByCodePoints(0, LONGEST_QUERY));
    return Rx.single(() -> {
      if (cut.isBlank()) {
        return SearchMemoryResponse.builder().build();
      }
      var found = memory(appName, userId).search(cut, o -> search.accept(o.topK(MOST_FOUND)));
      return SearchMemoryResponse.builder().memories(found.getEntriesList().stream().map(ThreadkeepMemoryService::read).toList()).build();
    });
  }

  private UserMemory memory(String app, String userId) {
    return client.memory(MemoryScope.newBuilder().setApp(app).setUserId(userId).build());
  }

  /** Adds events that Threadkeep does not keep. An entry has an id of its session and event, so it is added once. */
  private static void addEvents(UserMemory memory, Session session) {
    List<MemoryWrite> writes = new ArrayList<>();
    for (Event each : List.copyOf(session.events())) {
      SessionEvent event = AdkEvents.write(each);
      List<Part> texts = event.getMessage().getPartsList().stream().filter(part -> !part.getText().isBlank()).toList();
      if (!texts.isEmpty()) {
        String id = event.getEventId().isEmpty() ? hash(each.author() + ":" + each.timestamp() + ":" + texts) : event.getEventId();
        writes.add(MemoryWrite.newBuilder().setMemory(dev.threadkeep.v1.MemoryEntry.newBuilder()
            .setId(hash(session.id() + ":" + id))
            .setContent(event.getMessage().toBuilder().clearParts().addAllParts(texts))
            .setAuthor(event.getAuthor())
            .setEventTime(event.getEventTime())
            .setSessionId(session.id())
            .setEventId(id)).build());
      }
    }
    for (int start = 0; start < writes.size(); start += ENTRIES_AT_ONCE) {
      List<MemoryWrite> some = writes.subList(start, Math.min(start + ENTRIES_AT_ONCE, writes.size()));
      memory.upsert(some, request -> request.setIfExists(IfMemoryExists.IF_MEMORY_EXISTS_IGNORE));
    }
  }

  private static MemoryEntry read(dev.threadkeep.v1.MemoryEntry stored) {
    Content content = Contents.read(stored.getContent(), Map.of(), true).map(Items::content).orElseGet(() -> Content.builder().build());
    var found = MemoryEntry.builder().content(content);
    if (!stored.getAuthor().isEmpty()) {
      found.author(stored.getAuthor());
    }
    if (stored.hasEventTime()) {
      found.timestamp(Instant.ofEpochSecond(stored.getEventTime().getSeconds(), stored.getEventTime().getNanos()));
    }
    return found.build();
  }

  private static String hash(String text) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException(impossible);
    }
  }
}
