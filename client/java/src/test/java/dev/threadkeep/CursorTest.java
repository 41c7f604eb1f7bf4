package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.threadkeep.internal.Cursor;
import dev.threadkeep.v1.Change;
import dev.threadkeep.v1.Compaction;
import dev.threadkeep.v1.EventBatch;
import dev.threadkeep.v1.SessionChange;
import dev.threadkeep.v1.SessionChangeKind;
import dev.threadkeep.v1.SessionEvent;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.SessionVersions;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class CursorTest {
  private final Cursor cursor = new Cursor();

  static Change.Builder batch(String session, long version, String token, String... events) {
    var batch = EventBatch.newBuilder();
    for (String id : events) {
      batch.addEvents(SessionEvent.newBuilder().setEventId(id));
    }
    return Change.newBuilder()
        .setSession(SessionRef.newBuilder().setSessionId(session))
        .setBatch(batch)
        .setVersions(SessionVersions.newBuilder().setLogVersion(version))
        .setResumeToken(token);
  }

  private static Change part(Change.Builder change) {
    change.getBatchBuilder().setContinues(true);
    return change.build();
  }

  private static Change session(SessionChangeKind kind) {
    return Change.newBuilder()
        .setSession(SessionRef.newBuilder().setSessionId("s"))
        .setSessionChange(SessionChange.newBuilder().setKind(kind))
        .build();
  }

  @Test
  void partsAreJoinedWithTokenAndVersionsOfTheLast() {
    assertEquals(Optional.empty(), cursor.take(part(batch("s", 0, "", "a", "b"))));
    assertEquals(Optional.empty(), cursor.take(part(batch("s", 0, "", "c"))));
    assertEquals(Optional.of(batch("s", 7, "t", "a", "b", "c", "d").build()), cursor.take(batch("s", 7, "t", "d").build()));
    assertEquals("t", cursor.resume());
  }

  @Test
  void partsOfACompactionKeepTheRecord() {
    var first = Change.newBuilder();
    first.getCompactionBuilder().setContinues(true).setCompaction(Compaction.newBuilder().setCompactionId("c"));
    first.getCompactionBuilder().addInserted(SessionEvent.newBuilder().setEventId("a"));
    var last = Change.newBuilder().setResumeToken("t");
    last.getCompactionBuilder().addInserted(SessionEvent.newBuilder().setEventId("b"));

    assertEquals(Optional.empty(), cursor.take(first.build()));
    var notice = cursor.take(last.build()).orElseThrow().getCompaction();
    assertEquals("c", notice.getCompaction().getCompactionId());
    assertEquals(2, notice.getInsertedCount());
    assertTrue(!notice.getContinues());
  }

  @Test
  void partsOfABrokenStreamAreDropped() {
    cursor.take(batch("s", 1, "t", "a").build());
    cursor.take(part(batch("s", 0, "", "b")));
    assertEquals("t", cursor.resume());
    assertEquals(Optional.of(batch("s", 2, "u", "b", "c").build()), cursor.take(batch("s", 2, "u", "b", "c").build()));
  }

  @Test
  void repetitionsAreDroppedAndTheirTokensUsed() {
    cursor.take(batch("s", 3, "t", "a").build());
    assertEquals(Optional.empty(), cursor.take(batch("s", 3, "u", "a").build()));
    assertEquals(Optional.empty(), cursor.take(batch("s", 2, "v", "z").build()));
    assertEquals("v", cursor.resume());
    assertTrue(cursor.take(batch("other", 1, "w", "a").build()).isPresent());
  }

  @Test
  void sessionThatIsCreatedAgainResetsItsVersions() {
    cursor.take(batch("s", 9, "t", "a").build());
    cursor.take(session(SessionChangeKind.SESSION_CHANGE_KIND_UPDATED));
    assertEquals(Optional.empty(), cursor.take(batch("s", 9, "t", "a").build()));
    cursor.take(session(SessionChangeKind.SESSION_CHANGE_KIND_DELETED));
    assertTrue(cursor.take(batch("s", 1, "u", "b").build()).isPresent());
  }

  @Test
  void unknownKindsAreSkippedAndTheirTokensUsed() {
    assertEquals(Optional.empty(), cursor.take(Change.newBuilder().setResumeToken("t").build()));
    assertEquals("t", cursor.resume());
  }

  @Test
  void versionsOfTheLeastRecentSessionsAreDropped() {
    for (int n = 0; n < Cursor.REMEMBERED; n++) {
      cursor.take(batch("s" + n, 5, "t").build());
    }
    cursor.take(batch("s0", 6, "t").build()); // is now the one that changed last
    cursor.take(batch("one more", 5, "t").build());
    assertEquals(Optional.empty(), cursor.take(batch("s0", 6, "t").build()));
    assertTrue(cursor.take(batch("s1", 5, "t").build()).isPresent());
  }
}
