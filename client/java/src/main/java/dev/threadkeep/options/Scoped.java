package dev.threadkeep.options;

import com.google.protobuf.Message;
import dev.threadkeep.v1.AppScope;
import dev.threadkeep.v1.SearchEventsRequest;
import dev.threadkeep.v1.SessionRef;

/**
 * Options of calls that cover several sessions: those of the client's user and app, unless another is given or all are.
 *
 * @param <S> type of the options
 */
public abstract class Scoped<S extends Scoped<S>> {
  private String userId = "";
  private String app;
  private boolean allUsers;
  private boolean allApps;

  /** Creates options that cover the client's user and app. */
  protected Scoped() {}

  /**
   * Covers this user instead of the client's.
   *
   * @param value the user
   * @return these options
   */
  public S userId(String value) {
    this.userId = value;
    return self();
  }

  /**
   * Covers this app instead of the client's.
   *
   * @param value the app; empty means sessions without an app
   * @return these options
   */
  public S app(String value) {
    this.app = value;
    return self();
  }

  /**
   * Covers every user within the token's reach, unless one is given.
   *
   * @return these options
   */
  public S allUsers() {
    this.allUsers = true;
    return self();
  }

  /**
   * Covers every app, unless one is given.
   *
   * @return these options
   */
  public S allApps() {
    this.allApps = true;
    return self();
  }

  /** Returns this object with its own type. */
  @SuppressWarnings("unchecked") // each subclass names itself
  final S self() {
    return (S) this;
  }

  /** Returns the message with the scope in its fields user_id and app; those that it has stay. */
  @SuppressWarnings("unchecked") // build() returns the type of the message
  final <M extends Message> M scoped(M message, SessionRef owner) {
    var userField = message.getDescriptorForType().findFieldByName("user_id");
    var appField = message.getDescriptorForType().findFieldByName("app");
    var whole = message.toBuilder();
    if (message.getField(userField).equals("")) {
      whole.setField(userField, !userId.isEmpty() || allUsers ? userId : owner.getUserId());
    }
    String ownApp = owner.getApp().isEmpty() || allApps ? null : owner.getApp();
    String chosen = app == null ? ownApp : app;
    if (!message.hasField(appField) && chosen != null) {
      whole.setField(appField, chosen);
    }
    return (M) whole.build();
  }

  /** Returns the search with its scope. A scope of a session or an app stays; all users are searched in one app. */
  final SearchEventsRequest scoped(SearchEventsRequest request, SessionRef owner) {
    if (request.hasSession() || request.hasApp()) {
      return request;
    }
    var user = scoped(request.getUser(), owner);
    if (!user.getUserId().isEmpty() || !allUsers) {
      return request.toBuilder().setUser(user).build();
    }
    if (!user.hasApp()) {
      throw new IllegalArgumentException("a search of all users requires one app; set app");
    }
    return request.toBuilder().setApp(AppScope.newBuilder().setApp(user.getApp())).build();
  }
}
