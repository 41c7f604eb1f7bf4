package dev.threadkeep;

import dev.threadkeep.internal.operations.StateOperations;
import dev.threadkeep.v1.GetStateRequest;
import dev.threadkeep.v1.State;
import dev.threadkeep.v1.StatePatch;
import java.util.OptionalLong;
import java.util.function.Consumer;

/**
 * A handle on the state of a session, of a user in an app, or of an app: JSON values by key. Creating it makes no call. Every
 * method may fail with SESSION_NOT_FOUND and AMBIGUOUS_SESSION for a session, and with PERMISSION_DENIED beyond the token's reach.
 *
 * <pre>{@code
 * StateHandle state = trip.state();
 * State seen = state.get();
 * state.patch(seen.getVersion(), patch -> patch.putSet("cart", "{\"items\": 3}").addRemove("draft"));
 * }</pre>
 */
public final class StateHandle {
  private final Calls client;
  private final StateOperations.Scope scope;

  StateHandle(Calls client, StateOperations.Scope scope) {
    this.client = client;
    this.scope = scope;
  }

  /**
   * Returns all values and their version. See {@link #get(Consumer)}.
   *
   * @return the values, as JSON texts by key, and their version
   */
  public State get() {
    return get(request -> {});
  }

  /**
   * Returns values and their version, page by page, each with the timeout. If others change the state between two pages, it starts
   * over, so that all values are of one version.
   *
   * @param change changes the request, for example its keys, its key_prefix, or as_of_log_version, which reads the state of a
   *     session as it was then
   * @return the values, as JSON texts by key, and their version
   */
  public State get(Consumer<GetStateRequest.Builder> change) {
    return client.run(StateOperations.get(scope, change));
  }

  /**
   * Sets values and removes keys, all or none. A patch that changes nothing keeps the version. Reasons: STATE_TOO_LARGE.
   *
   * @param change adds the changes: {@code patch.putSet(key, json)}, where the text of the value is kept verbatim and null is a
   *     value, and {@code patch.addRemove(key)}; at most 1,000 keys
   * @return the version afterwards
   */
  public long patch(Consumer<StatePatch.Builder> change) {
    return client.run(StateOperations.patch(scope, OptionalLong.empty(), change));
  }

  /**
   * Sets values and removes keys if the state is at this version. Reasons: STATE_TOO_LARGE, and VERSION_MISMATCH if it is not, also
   * if a retry of the client finds its own first attempt.
   *
   * @param expectedVersion version of the state that was read; 0 if nothing was ever set
   * @param change adds the changes, see {@link #patch(Consumer)}
   * @return the version afterwards
   */
  public long patch(long expectedVersion, Consumer<StatePatch.Builder> change) {
    return client.run(StateOperations.patch(scope, OptionalLong.of(expectedVersion), change));
  }
}
