package dev.threadkeep.options;

import dev.threadkeep.v1.AppendEventsRequest;
import dev.threadkeep.v1.CreateIfMissing;
import dev.threadkeep.v1.IfExists;
import dev.threadkeep.v1.SessionEvent;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.StatePatch;
import java.util.List;
import java.util.function.Consumer;

/** Options of an append. */
public final class AppendOptions {
  private final AppendEventsRequest.Builder request = AppendEventsRequest.newBuilder();

  /** Creates options without a setting. */
  public AppendOptions() {}

  /**
   * Changes the request, for fields without a method of their own.
   *
   * @param change called with the request
   * @return these options
   */
  public AppendOptions with(Consumer<AppendEventsRequest.Builder> change) {
    change.accept(request);
    return this;
  }

  /**
   * Creates the session in the same commit if it does not exist, with the server's defaults.
   *
   * @return these options
   */
  public AppendOptions createIfMissing() {
    request.setCreateIfMissing(CreateIfMissing.getDefaultInstance());
    return this;
  }

  /**
   * Creates the session with these properties in the same commit if it does not exist.
   *
   * @param how expiry, metadata, labels and state
   * @return these options
   */
  public AppendOptions createIfMissing(CreateIfMissing how) {
    request.setCreateIfMissing(how);
    return this;
  }

  /**
   * Appends only if this is so; otherwise VERSION_MISMATCH. The last expectation counts.
   *
   * @param expected what the caller last read
   * @return these options
   */
  public AppendOptions expect(Expect expected) {
    expected.set(request);
    return this;
  }

  /**
   * Sets how stored event ids are handled. Default: the same content is a replay, other content EVENT_ID_CONFLICT.
   *
   * @param how the handling
   * @return these options
   */
  public AppendOptions ifExists(IfExists how) {
    request.setIfExists(how);
    return this;
  }

  /**
   * Names the append. The server remembers the id with the outcome; a repeated append with the same id and content returns that,
   * also after a crash of the caller, and stores nothing.
   *
   * @param id at most 255 bytes
   * @return these options
   */
  public AppendOptions operationId(String id) {
    request.setOperationId(id);
    return this;
  }

  /**
   * Changes the state of the session with the events.
   *
   * @param change adds the changes: {@code patch.putSet("cart", "3").addRemove("draft")}
   * @return these options
   */
  public AppendOptions state(Consumer<StatePatch.Builder> change) {
    change.accept(request.getStateDeltaBuilder().getSessionBuilder());
    return this;
  }

  /**
   * Changes the state of the session's user in its app with the events.
   *
   * @param change adds the changes
   * @return these options
   */
  public AppendOptions userState(Consumer<StatePatch.Builder> change) {
    change.accept(request.getStateDeltaBuilder().getUserBuilder());
    return this;
  }

  /**
   * Changes the state of the session's app with the events.
   *
   * @param change adds the changes
   * @return these options
   */
  public AppendOptions appState(Consumer<StatePatch.Builder> change) {
    change.accept(request.getStateDeltaBuilder().getAppBuilder());
    return this;
  }

  /**
   * Returns the request with these options; the SDK calls it.
   *
   * @param session the session
   * @param events events with ids
   * @return the request
   */
  public AppendEventsRequest request(SessionRef session, List<SessionEvent> events) {
    return request.setSession(session).addAllEvents(events).build();
  }
}
