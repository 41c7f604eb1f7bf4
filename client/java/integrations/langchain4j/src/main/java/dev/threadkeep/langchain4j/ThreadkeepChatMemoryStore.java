package dev.threadkeep.langchain4j;

import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.store.memory.chat.ChatMemoryStore;
import dev.threadkeep.Events;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.ThreadkeepException;
import dev.threadkeep.async.AsyncSessionHandle;
import dev.threadkeep.async.AsyncThreadkeepClient;
import dev.threadkeep.filter.EventFilters;
import dev.threadkeep.v1.SessionEvent;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;

/**
 * The store of LangChain4j's chat memories on a Threadkeep server. The text of a memory's id is the id of its session, of the
 * client's user and app. Messages come back equal. What a memory evicts is archived: it stays in the log, where searches find it.
 *
 * <p>An update appends what is new, and replaces the window only if something leaves it. Messages that others appended since this
 * store read the memory stay. Calls throw {@link ThreadkeepException}. The store is thread-safe and valid as long as its client,
 * which it does not close.
 */
public final class ThreadkeepChatMemoryStore implements ChatMemoryStore {
  private static final int PAGE = 1000;
  private static final int ATTEMPTS = 20;
  private static final int REMEMBERED = 10_000;

  private final AsyncThreadkeepClient client;
  private final Map<String, Set<String>> known = Collections.synchronizedMap(new LinkedHashMap<>(16, 0.75f, true) {
    private static final long serialVersionUID = 1;

    @Override
    protected boolean removeEldestEntry(Map.Entry<String, Set<String>> eldest) {
      return size() > REMEMBERED;
    }
  });

  /**
   * Creates the store, without a call.
   *
   * @param client client of the user and app whose sessions keep the memories
   */
  public ThreadkeepChatMemoryStore(ThreadkeepClient client) {
    this.client = client.async();
  }

  @Override
  public List<ChatMessage> getMessages(Object memoryId) {
    return joined(getMessagesAsync(memoryId));
  }

  @Override
  public void updateMessages(Object memoryId, List<ChatMessage> messages) {
    joined(updateMessagesAsync(memoryId, messages));
  }

  /**
   * Deletes the session of a memory, with all that any framework wrote into it.
   *
   * @param memoryId id of the memory
   */
  @Override
  public void deleteMessages(Object memoryId) {
    joined(deleteMessagesAsync(memoryId));
  }

  @Override
  public CompletableFuture<List<ChatMessage>> getMessagesAsync(Object memoryId) {
    String id = memoryId.toString();
    return window(client.session(id)).thenApply(window -> {
      remember(id, window.events());
      return window.messages();
    });
  }

  @Override
  public CompletableFuture<Void> updateMessagesAsync(Object memoryId, List<ChatMessage> messages) {
    return update(memoryId.toString(), List.copyOf(messages), 1);
  }

  @Override
  public CompletableFuture<Void> deleteMessagesAsync(Object memoryId) {
    known.remove(memoryId.toString());
    return client.session(memoryId.toString()).delete().thenApply(deleted -> null);
  }

  private CompletableFuture<Void> update(String id, List<ChatMessage> messages, int attempt) {
    AsyncSessionHandle session = client.session(id);
    return window(session).thenCompose(window -> {
      List<SessionEvent> wanted = Events.withIds(window.with(messages, known.get(id)));
      return write(session, window, wanted).thenCompose(written -> {
        if (written) {
          remember(id, wanted);
          return CompletableFuture.completedFuture(null);
        } else if (attempt == ATTEMPTS) {
          throw new IllegalStateException("the memory " + id + " changes faster than it can be written");
        }
        return update(id, messages, attempt + 1);
      });
    });
  }

  private static CompletableFuture<Boolean> write(AsyncSessionHandle session, Window window, List<SessionEvent> wanted) {
    if (!window.isStartOf(wanted)) {
      return session.replaceEvents(wanted, window.logVersion()).thenApply(response -> response.getReplaced());
    }
    List<SessionEvent> added = wanted.subList(window.events().size(), wanted.size());
    return added.isEmpty() ? CompletableFuture.completedFuture(true) : session.append(added, o -> o.createIfMissing()).thenApply(appended -> true);
  }

  private static CompletableFuture<Window> window(AsyncSessionHandle session) {
    return session.eventsPage(o -> o.filter(EventFilters.all().active()).pageSize(PAGE)).thenCompose(page -> {
      var window = new Window(new ArrayList<>(page.getEventsList()), page.getLogVersion());
      return rest(session, window, page.getNextPageToken());
    });
  }

  private static CompletableFuture<Window> rest(AsyncSessionHandle session, Window window, String token) {
    if (token.isEmpty()) {
      return CompletableFuture.completedFuture(window);
    }
    return session.eventsPage(o -> o.filter(EventFilters.all().active()).pageSize(PAGE).pageToken(token)).thenCompose(page -> {
      window.events().addAll(page.getEventsList());
      return rest(session, window, page.getNextPageToken());
    });
  }

  private void remember(String id, List<SessionEvent> events) {
    known.put(id, events.stream().map(SessionEvent::getEventId).collect(Collectors.toSet()));
  }

  private static <T> T joined(CompletableFuture<T> future) {
    try {
      return future.join();
    } catch (CompletionException error) {
      if (error.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw error;
    }
  }
}
