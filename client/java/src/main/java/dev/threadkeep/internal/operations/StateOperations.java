package dev.threadkeep.internal.operations;

import static dev.threadkeep.internal.operations.Operation.chosen;

import dev.threadkeep.v1.GetStateRequest;
import dev.threadkeep.v1.PatchStateRequest;
import dev.threadkeep.v1.PatchStateResponse;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.State;
import dev.threadkeep.v1.StatePatch;
import dev.threadkeep.v1.StateScope;
import dev.threadkeep.v1.StateServiceGrpc;
import java.util.OptionalLong;
import java.util.function.Consumer;

/** The operations of state. */
public final class StateOperations {
  private StateOperations() {}

  /**
   * Whose state it is.
   *
   * @param kind session, user or app
   * @param ref the session, or the app with or without the user
   */
  public record Scope(StateScope kind, SessionRef ref) {
    public static Scope session(SessionRef ref) {
      return new Scope(StateScope.STATE_SCOPE_SESSION, ref);
    }

    public static Scope user(SessionRef whose, String userId) {
      return new Scope(StateScope.STATE_SCOPE_USER, whose.toBuilder().setUserId(userId).build());
    }

    public static Scope app(String app) {
      return new Scope(StateScope.STATE_SCOPE_APP, SessionRef.newBuilder().setApp(app).build());
    }
  }

  public static Operation<State> get(Scope scope, Consumer<GetStateRequest.Builder> change) {
    var request = GetStateRequest.newBuilder().setScope(scope.kind()).setSession(scope.ref());
    return page(chosen(request, change), State.newBuilder());
  }

  /** Reads page after page; from the first one if the state has changed since. */
  private static Operation<State> page(GetStateRequest.Builder request, State.Builder found) {
    return Operation.call(
        StateServiceGrpc.getGetStateMethod(),
        request.build(),
        page -> {
          long version = page.getState().getVersion();
          boolean continues = !request.getAfterKey().isEmpty() && !request.hasAsOfLogVersion();
          if (continues && version != found.getVersion()) {
            return page(request.clearAfterKey(), found.clear());
          }
          found.setVersion(version).putAllValues(page.getState().getValuesMap());
          return page.getNextKey().isEmpty() ? new Operation.Result<>(found.build()) : page(request.setAfterKey(page.getNextKey()), found);
        });
  }

  /** Patches, if the state is at the expected version; empty is at any. */
  public static Operation<Long> patch(Scope scope, OptionalLong expectedVersion, Consumer<StatePatch.Builder> change) {
    var request = PatchStateRequest.newBuilder().setScope(scope.kind()).setSession(scope.ref());
    expectedVersion.ifPresent(request::setExpectedVersion);
    change.accept(request.getPatchBuilder());
    return Operation.of(StateServiceGrpc.getPatchStateMethod(), request.build(), PatchStateResponse::getVersion);
  }
}
