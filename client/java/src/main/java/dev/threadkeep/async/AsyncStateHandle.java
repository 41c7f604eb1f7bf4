package dev.threadkeep.async;

import dev.threadkeep.internal.operations.StateOperations;
import dev.threadkeep.v1.GetStateRequest;
import dev.threadkeep.v1.State;
import dev.threadkeep.v1.StatePatch;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * A handle on the state of a session, of a user in an app, or of an app: JSON values by key. Creating it makes no call. Its futures
 * may fail with SESSION_NOT_FOUND and AMBIGUOUS_SESSION for a session, and with PERMISSION_DENIED beyond the token's reach.
 *
 * @see dev.threadkeep.StateHandle
 */
public final class AsyncStateHandle {
  private final AsyncCalls client;
  private final StateOperations.Scope scope;

  AsyncStateHandle(AsyncCalls client, StateOperations.Scope scope) {
    this.client = client;
    this.scope = scope;
  }

  /**
   * Returns all values and their version. See {@link #get(Consumer)}.
   *
   * @return a future of the values, as JSON texts by key, and of their version
   */
  public CompletableFuture<State> get() {
    return get(request -> {});
  }

  /**
   * Returns values and their version, all of one version, in as many calls as they need, each with the timeout.
   *
   * @param change changes the request, for example its keys, its key_prefix, or as_of_log_version, which reads the state of a
   *     session as it was then
   * @return a future of the values, as JSON texts by key, and of their version
   */
  public CompletableFuture<State> get(Consumer<GetStateRequest.Builder> change) {
    return client.start(() -> StateOperations.get(scope, change));
  }

  /**
   * Sets values and removes keys, all or none. A patch that changes nothing keeps the version. Reasons: STATE_TOO_LARGE.
   *
   * @param change adds the changes: {@code patch.putSet(key, json)}, where the text of the value is kept verbatim and null is a
   *     value, and {@code patch.addRemove(key)}; at most 1,000 keys
   * @return a future of the version afterwards
   */
  public CompletableFuture<Long> patch(Consumer<StatePatch.Builder> change) {
    return client.start(() -> StateOperations.patch(scope, OptionalLong.empty(), change));
  }

  /**
   * Sets values and removes keys if the state is at this version. Reasons: STATE_TOO_LARGE, and VERSION_MISMATCH if it is not, also
   * if a retry of the client finds its own first attempt.
   *
   * @param expectedVersion version of the state that was read; 0 if nothing was ever set
   * @param change adds the changes, see {@link #patch(Consumer)}
   * @return a future of the version afterwards
   */
  public CompletableFuture<Long> patch(long expectedVersion, Consumer<StatePatch.Builder> change) {
    return client.start(() -> StateOperations.patch(scope, OptionalLong.of(expectedVersion), change));
  }
}
