package dev.threadkeep.spring.ai;

import dev.threadkeep.Events;
import dev.threadkeep.SessionHandle;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.ThreadkeepException;
import dev.threadkeep.filter.EventFilters;
import dev.threadkeep.v1.ListEventsResponse;
import dev.threadkeep.v1.SessionEvent;
import java.util.ArrayList;
import java.util.List;
import org.springframework.ai.chat.memory.ChatMemoryRepository;
import org.springframework.ai.chat.messages.Message;
import org.springframework.util.Assert;

/**
 * The repository of Spring AI's chat memories on a Threadkeep server. A conversation is the session of the client's user and app
 * with its id. Messages come back equal; what a memory leaves out is archived, where searches find it.
 *
 * <p>A save appends what is new, and replaces the window only if something leaves it or has another place, which requires the role
 * compactor. Calls throw {@link ThreadkeepException}. The repository is thread-safe and valid as long as its client.
 */
public final class ThreadkeepChatMemoryRepository implements ChatMemoryRepository {
  private static final int PAGE = 1000;
  private static final int ATTEMPTS = 20;

  private final ThreadkeepClient client;

  /**
   * Creates the repository, without a call.
   *
   * @param client client of the user and app whose sessions keep the conversations
   */
  public ThreadkeepChatMemoryRepository(ThreadkeepClient client) {
    this.client = client;
  }

  @Override
  public List<String> findConversationIds() {
    return client.sessions().stream().map(session -> session.getRef().getSessionId()).toList();
  }

  @Override
  public List<Message> findByConversationId(String conversationId) {
    Assert.hasText(conversationId, "conversationId must not be null or empty");
    return read(client.session(conversationId)).events().stream().flatMap(event -> SpringMessages.messagesOf(event).stream()).toList();
  }

  /**
   * Makes these messages the conversation. Stored messages among them keep their events.
   *
   * @param conversationId id of the conversation
   * @param messages all its messages, in order
   */
  @Override
  public void saveAll(String conversationId, List<Message> messages) {
    Assert.hasText(conversationId, "conversationId must not be null or empty");
    Assert.notNull(messages, "messages must not be null");
    SessionHandle session = client.session(conversationId);
    for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
      Window window = read(session);
      List<SessionEvent> wanted = Events.withIds(window.with(messages));
      int stored = window.events().size();
      if (wanted.size() < stored || !wanted.subList(0, stored).equals(window.events())) {
        if (session.replaceEvents(wanted, window.logVersion()).getReplaced()) {
          return;
        }
      } else {
        if (wanted.size() > stored) {
          session.append(wanted.subList(stored, wanted.size()), o -> o.createIfMissing());
        }
        return;
      }
    }
    throw new IllegalStateException("the conversation " + conversationId + " changes faster than it can be written");
  }

  /**
   * Deletes the session of a conversation, with all that any framework wrote into it.
   *
   * @param conversationId id of the conversation
   */
  @Override
  public void deleteByConversationId(String conversationId) {
    Assert.hasText(conversationId, "conversationId must not be null or empty");
    client.session(conversationId).delete();
  }

  private static Window read(SessionHandle session) {
    List<SessionEvent> events = new ArrayList<>();
    long version = 0;
    String token = "";
    do {
      String next = token;
      ListEventsResponse page = session.eventsPage(o -> o.filter(EventFilters.all().active()).pageSize(PAGE).pageToken(next));
      version = token.isEmpty() ? page.getLogVersion() : version;
      events.addAll(page.getEventsList());
      token = page.getNextPageToken();
    } while (!token.isEmpty());
    return new Window(events, version);
  }

  /** The active events of a session as of a log version. */
  private record Window(List<SessionEvent> events, long logVersion) {
    /** Returns the window that has these messages: of stored messages the events, of others new ones. */
    List<SessionEvent> with(List<Message> messages) {
      List<SessionEvent> found = new ArrayList<>();
      int next = 0;
      for (int at = 0; at < messages.size(); ) {
        int stored = find(messages, at, next);
        if (stored < 0) {
          found.add(SpringMessages.eventOf(messages.get(at)));
          at++;
        } else {
          found.add(events.get(stored));
          at += SpringMessages.messagesOf(events.get(stored)).size();
          next = stored + 1;
        }
      }
      return found;
    }

    private int find(List<Message> messages, int at, int next) {
      for (int i = next; i < events.size(); i++) {
        List<Message> own = SpringMessages.messagesOf(events.get(i));
        int end = at + own.size();
        if (end <= messages.size() && own.equals(messages.subList(at, end))) {
          return i;
        }
      }
      return -1;
    }
  }
}
