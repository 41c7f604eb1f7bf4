package dev.threadkeep;

import com.google.protobuf.Message;
import dev.threadkeep.v1.AppScope;
import dev.threadkeep.v1.SearchEventsRequest;
import dev.threadkeep.v1.SearchEventsRequest.ScopeCase;
import dev.threadkeep.v1.SessionRef;
import java.util.Arrays;

/** Completes the app and user of requests with the client's. */
final class Scopes {
  private Scopes() {}

  /** Returns the request with the owner's user_id and app in its fields of these names if they are not set and not widened. */
  @SuppressWarnings("unchecked") // build() returns the type of the message
  static <M extends Message> M narrowed(M request, SessionRef owner, All... all) {
    var user = request.getDescriptorForType().findFieldByName("user_id");
    var app = request.getDescriptorForType().findFieldByName("app");
    var own = request.toBuilder();
    if (request.getField(user).equals("") && !Arrays.asList(all).contains(All.USERS)) {
      own.setField(user, owner.getUserId());
    }
    if (!request.hasField(app) && !owner.getApp().isEmpty() && !Arrays.asList(all).contains(All.APPS)) {
      own.setField(app, owner.getApp());
    }
    return (M) own.build();
  }

  /** Completes the scope of a search. A scope of a session or an app is unchanged; all users are searched in one app. */
  static SearchEventsRequest narrowed(SearchEventsRequest request, SessionRef owner, All... all) {
    if (request.getScopeCase() == ScopeCase.SESSION || request.getScopeCase() == ScopeCase.APP) {
      return request;
    }
    var user = narrowed(request.getUser(), owner, all);
    if (!user.getUserId().isEmpty() || !Arrays.asList(all).contains(All.USERS)) {
      return request.toBuilder().setUser(user).build();
    }
    if (!user.hasApp()) {
      throw new IllegalArgumentException("a search of all users requires one app; set app");
    }
    return request.toBuilder().setApp(AppScope.newBuilder().setApp(user.getApp())).build();
  }
}
