package dev.threadkeep.options;

import dev.threadkeep.internal.Summaries;
import dev.threadkeep.v1.ApplyCompactionRequest;
import dev.threadkeep.v1.CompactionInsert;
import dev.threadkeep.v1.CompactionPlan;
import dev.threadkeep.v1.EventIds;
import dev.threadkeep.v1.SessionEvent;
import dev.threadkeep.v1.SessionRef;
import java.util.List;
import java.util.function.Consumer;

/** Options of applying a compaction: what is archived and inserted. */
public final class ApplyOptions {
  private final ApplyCompactionRequest.Builder request = ApplyCompactionRequest.newBuilder();

  /** Creates options without a setting. */
  public ApplyOptions() {}

  /**
   * Changes the request, for fields without a method of their own.
   *
   * @param change called with the request
   * @return these options
   */
  public ApplyOptions with(Consumer<ApplyCompactionRequest.Builder> change) {
    change.accept(request);
    return this;
  }

  /**
   * Archives and inserts what a plan says.
   *
   * @param plan the plan
   * @param summary text for the summary prompt of the plan; ignored without one
   * @return these options
   */
  public ApplyOptions plan(CompactionPlan plan, String summary) {
    var inserts = plan.hasSummaryPrompt() ? Summaries.filled(plan, summary) : plan;
    request.setEventIds(EventIds.newBuilder().addAllIds(plan.getArchiveEventIdsList()));
    request.addAllInserts(inserts.getInsertsList()).setBranch(plan.getBranch()).setStrategy(plan.getStrategy());
    return this;
  }

  /**
   * Archives these events.
   *
   * @param eventIds their ids
   * @return these options
   */
  public ApplyOptions archive(List<String> eventIds) {
    request.setEventIds(EventIds.newBuilder().addAllIds(eventIds));
    return this;
  }

  /**
   * Archives the active events of a range.
   *
   * @param fromSeq first seq; 0 means the start of the window
   * @param throughSeq last seq
   * @return these options
   */
  public ApplyOptions archiveThrough(long fromSeq, long throughSeq) {
    request.setFromSeq(fromSeq).setThroughSeq(throughSeq);
    return this;
  }

  /**
   * Inserts events.
   *
   * @param beforeEventId id of the event that they precede; empty means where the archived ones end
   * @param events the events
   * @return these options
   */
  public ApplyOptions insert(String beforeEventId, List<SessionEvent> events) {
    request.addInserts(CompactionInsert.newBuilder().setBeforeEventId(beforeEventId).addAllEvents(events));
    return this;
  }

  /**
   * Sets the name of the strategy, for the record.
   *
   * @param name at most 255 bytes
   * @return these options
   */
  public ApplyOptions strategy(String name) {
    request.setStrategy(name);
    return this;
  }

  /**
   * Sets the id of the compaction, to repeat it after an error. Default: a new one.
   *
   * @param id at most 255 bytes
   * @return these options
   */
  public ApplyOptions compactionId(String id) {
    request.setCompactionId(id);
    return this;
  }

  /**
   * Returns the request with these options; the SDK calls it.
   *
   * @param session the session
   * @param expectedWindowVersion window version that the caller read
   * @return the request, without a compaction id unless one was set
   */
  public ApplyCompactionRequest request(SessionRef session, long expectedWindowVersion) {
    return request.setSession(session).setExpectedWindowVersion(expectedWindowVersion).build();
  }
}
