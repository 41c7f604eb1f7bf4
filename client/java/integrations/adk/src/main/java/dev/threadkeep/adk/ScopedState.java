package dev.threadkeep.adk;

import com.google.adk.sessions.State;
import dev.threadkeep.v1.StatePatch;
import java.util.Map;

/**
 * Values of a state or of a delta of ADK, whose keys have the prefixes of their scopes, as changes of Threadkeep's scopes. Temporary
 * keys are in none.
 */
record ScopedState(StatePatch session, StatePatch user, StatePatch app) {
  static ScopedState of(Map<String, ?> state) {
    var found = Map.of("", StatePatch.newBuilder(), State.USER_PREFIX, StatePatch.newBuilder(), State.APP_PREFIX, StatePatch.newBuilder());
    state.forEach((key, value) -> {
      if (!key.startsWith(State.TEMP_PREFIX)) {
        String prefix = key.startsWith(State.APP_PREFIX) ? State.APP_PREFIX : key.startsWith(State.USER_PREFIX) ? State.USER_PREFIX : "";
        set(found.get(prefix), key.substring(prefix.length()), value);
      }
    });
    return new ScopedState(found.get("").build(), found.get(State.USER_PREFIX).build(), found.get(State.APP_PREFIX).build());
  }

  private static void set(StatePatch.Builder patch, String key, Object value) {
    if (value == null || value == State.REMOVED) {
      patch.addRemove(key);
    } else {
      patch.putSet(key, Json.text(value));
    }
  }

  static boolean isEmpty(StatePatch patch) {
    return patch.getSetCount() == 0 && patch.getRemoveCount() == 0;
  }

  /** Adds stored values to the state that a session shows. ADK's state has no null: such a key is left out. */
  static void add(Map<String, Object> shown, String prefix, Map<String, String> stored) {
    stored.forEach((key, json) -> {
      Object value = Json.as(Json.parsed(json), Object.class);
      if (value != null) {
        shown.put(prefix + key, value);
      }
    });
  }
}
