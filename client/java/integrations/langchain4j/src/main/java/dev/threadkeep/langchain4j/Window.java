package dev.threadkeep.langchain4j;

import dev.langchain4j.data.message.ChatMessage;
import dev.threadkeep.v1.SessionEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** The active events of a session as of a log version, with their messages. */
record Window(List<SessionEvent> events, long logVersion) {
  List<ChatMessage> messages() {
    return events.stream().flatMap(event -> Messages.messagesOf(event).stream()).toList();
  }

  /**
   * Returns the window that has these messages: stored events stay where they are, new messages become new events. Events that are
   * not among `known` are another writer's and stay too; null means that all are known.
   */
  List<SessionEvent> with(List<ChatMessage> messages, Set<String> known) {
    List<SessionEvent> found = new ArrayList<>();
    int next = 0;
    for (int at = 0; at < messages.size(); ) {
      int stored = find(messages, at, next);
      if (stored < 0) {
        if (noneFrom(messages, at, next)) {
          others(found, next, events.size(), known);
          next = events.size();
        }
        found.add(Messages.eventOf(messages.get(at)));
        at++;
      } else {
        others(found, next, stored, known);
        found.add(events.get(stored));
        at += Math.max(1, Messages.messagesOf(events.get(stored)).size());
        next = stored + 1;
      }
    }
    others(found, next, events.size(), known);
    return found;
  }

  /** Whether a list begins with all events of this window. */
  boolean isStartOf(List<SessionEvent> list) {
    return list.size() >= events.size() && list.subList(0, events.size()).equals(events);
  }

  private void others(List<SessionEvent> found, int from, int to, Set<String> known) {
    events.subList(from, to).stream()
        .filter(event -> Messages.messagesOf(event).isEmpty() || known != null && !known.contains(event.getEventId()))
        .forEach(found::add);
  }

  /** Returns the index of the first event from `next` on whose messages come at this place; -1 if there is none. */
  private int find(List<ChatMessage> messages, int at, int next) {
    for (int i = next; i < events.size(); i++) {
      List<ChatMessage> own = Messages.messagesOf(events.get(i));
      if (!own.isEmpty() && comes(own, messages, at)) {
        return i;
      }
    }
    return -1;
  }

  /** Whether no stored messages come at this place or after it. */
  private boolean noneFrom(List<ChatMessage> messages, int from, int next) {
    for (int at = from; at < messages.size(); at++) {
      if (find(messages, at, next) >= 0) {
        return false;
      }
    }
    return true;
  }

  private static boolean comes(List<ChatMessage> own, List<ChatMessage> messages, int at) {
    for (int i = 0; i < own.size(); i++) {
      if (at + i >= messages.size() || !Messages.same(own.get(i), messages.get(at + i))) {
        return false;
      }
    }
    return true;
  }
}
