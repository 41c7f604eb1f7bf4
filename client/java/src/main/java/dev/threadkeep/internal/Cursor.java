package dev.threadkeep.internal;

import dev.threadkeep.v1.Change;
import dev.threadkeep.v1.SessionChangeKind;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The state of a subscription: the last resume token, the parts of an incomplete change, and the delivered versions. */
public final class Cursor {
  /** Number of sessions whose last version is remembered. */
  public static final int REMEMBERED = 4096;

  private record Key(String app, String userId, String sessionId) {}

  private final List<Change> parts = new ArrayList<>();
  private final Map<Key, Long> versions = new LinkedHashMap<>(); // the session that changed longest ago comes first
  private String token = "";

  /** Returns the change if it is complete and new. Empty if parts are missing, it is a repetition, or its kind is unknown. */
  public Optional<Change> take(Change part) {
    if (part.getBatch().getContinues() || part.getCompaction().getContinues() || part.getRemoval().getContinues()) {
      parts.add(part);
      return Optional.empty();
    }
    Change change = part;
    if ((part.hasBatch() || part.hasCompaction() || part.hasRemoval()) && !parts.isEmpty()) {
      parts.add(part);
      change = joined();
      parts.clear();
    }
    if (!change.getResumeToken().isEmpty()) {
      token = change.getResumeToken();
    }
    boolean known = change.getKindCase() != Change.KindCase.KIND_NOT_SET;
    return known && isNew(change) ? Optional.of(change) : Optional.empty();
  }

  /** Returns the resume token, empty if there is none yet. An incomplete change will be delivered again in full. */
  public String resume() {
    parts.clear();
    return token;
  }

  /** The resume token prevents repetitions; the session's versions, which only increase, verify it. */
  private boolean isNew(Change change) {
    var ref = change.getSession();
    var key = new Key(ref.getApp(), ref.getUserId(), ref.getSessionId());
    if (change.hasSessionChange() && change.getSessionChange().getKind() != SessionChangeKind.SESSION_CHANGE_KIND_UPDATED) {
      versions.remove(key); // a session of this name begins or ends, so its versions are no longer valid
    }
    long version = change.getVersions().getLogVersion();
    if (version == 0) {
      return true;
    }
    if (version <= versions.getOrDefault(key, 0L)) {
      return false;
    }
    versions.remove(key); // so that it moves to the end
    versions.put(key, version);
    if (versions.size() > REMEMBERED) {
      versions.remove(versions.keySet().iterator().next());
    }
    return true;
  }

  /** Returns one change from its parts: the events of all, and the token, time and versions of the last. */
  private Change joined() {
    var whole = parts.get(parts.size() - 1).toBuilder();
    if (whole.hasCompaction()) {
      var notice = whole.getCompactionBuilder().clearInserted();
      notice.setCompaction(parts.get(0).getCompaction().getCompaction());
      parts.forEach(part -> notice.addAllInserted(part.getCompaction().getInsertedList()));
    } else if (whole.hasRemoval()) {
      var notice = whole.getRemovalBuilder().clearInserted();
      parts.forEach(part -> notice.addAllInserted(part.getRemoval().getInsertedList()));
    } else {
      var batch = whole.getBatchBuilder().clearEvents();
      parts.forEach(part -> batch.addAllEvents(part.getBatch().getEventsList()));
    }
    return whole.build();
  }
}
