package dev.threadkeep;

import com.google.protobuf.Message;
import dev.threadkeep.v1.AppScope;
import dev.threadkeep.v1.SearchEventsRequest;
import dev.threadkeep.v1.SearchEventsRequest.ScopeCase;
import dev.threadkeep.v1.SessionRef;
import java.util.Arrays;

/** Whom a request is about when it does not say: the client's user, in the client's app. */
final class Scopes {
  private Scopes() {}

  /** The request with the owner's user_id and app in its fields of these names, where they are not set and not all are wanted. */
  @SuppressWarnings("unchecked") // a builder builds what it was made from
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

  /** The same of a search's scope. One of a session or an app stays as it is; all users are searched in one app. */
  static SearchEventsRequest narrowed(SearchEventsRequest request, SessionRef owner, All... all) {
    if (request.getScopeCase() == ScopeCase.SESSION || request.getScopeCase() == ScopeCase.APP) {
      return request;
    }
    var user = narrowed(request.getUser(), owner, all);
    if (!user.getUserId().isEmpty() || !Arrays.asList(all).contains(All.USERS)) {
      return request.toBuilder().setUser(user).build();
    }
    if (!user.hasApp()) {
      throw new IllegalArgumentException("a search of all users is a search of one app: name the app");
    }
    return request.toBuilder().setApp(AppScope.newBuilder().setApp(user.getApp())).build();
  }
}
