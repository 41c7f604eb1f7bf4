package dev.threadkeep.spring.ai;

import dev.threadkeep.Events;
import dev.threadkeep.SessionHandle;
import dev.threadkeep.filter.EventFilters;
import dev.threadkeep.v1.ApplyCompactionRequest;
import dev.threadkeep.v1.CompactionInsert;
import dev.threadkeep.v1.Session;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.springframework.ai.session.SessionEvent;

/** Spring's compaction, which names the new window, as one that names what to archive and what to insert. */
final class Compactions {
  private static final int PAGE = 1000;

  private Compactions() {}

  /** Makes these events the window if nothing was committed since the version. Returns whether it did. */
  static boolean apply(SessionHandle session, List<SessionEvent> window, long expectedVersion) {
    Session now = session.get();
    if (now.getLogVersion() != expectedVersion) {
      return false;
    }
    Set<String> active = new LinkedHashSet<>();
    session.events(o -> o.filter(EventFilters.all().active()).pageSize(PAGE)).forEach(event -> active.add(event.getEventId()));
    List<String> leaving = new ArrayList<>(active);
    leaving.removeAll(window.stream().map(SpringEvents::storedId).collect(java.util.stream.Collectors.toSet()));
    List<CompactionInsert> inserts = inserts(window, active);
    if (leaving.isEmpty() && inserts.isEmpty()) {
      return true;
    }
    return session.applyCompaction(now.getWindowVersion(), o -> {
      if (!leaving.isEmpty()) {
        o.archive(leaving);
      }
      o.strategy(SpringEvents.COMPACTION).compactionId(Events.newEventId()).with(request -> expect(request, expectedVersion, inserts));
    }).getApplied();
  }

  private static void expect(ApplyCompactionRequest.Builder request, long version, List<CompactionInsert> inserts) {
    request.setExpectedLogVersion(version).setReportMismatch(true).addAllInserts(inserts);
  }

  /** New events go before the stored one that follows them in the window. */
  private static List<CompactionInsert> inserts(List<SessionEvent> window, Set<String> active) {
    List<CompactionInsert> found = new ArrayList<>();
    var next = CompactionInsert.newBuilder();
    for (SessionEvent event : window) {
      String id = SpringEvents.storedId(event);
      if (!active.contains(id)) {
        next.addEvents(inserted(event));
      } else if (next.getEventsCount() > 0) {
        found.add(next.setBeforeEventId(id).build());
        next.clear();
      }
    }
    if (next.getEventsCount() > 0) {
      found.add(next.build());
    }
    return found;
  }

  private static dev.threadkeep.v1.SessionEvent inserted(SessionEvent event) {
    var written = SpringEvents.write(event).toBuilder().setSynthetic(true);
    return written.getCompactionSource().isEmpty() ? written.setCompactionSource(SpringEvents.COMPACTION).build() : written.build();
  }
}
