package dev.threadkeep.filter;

import dev.threadkeep.internal.Protos;
import dev.threadkeep.v1.BranchMatch;
import dev.threadkeep.v1.EventFilter;
import dev.threadkeep.v1.KeywordMatch;
import dev.threadkeep.v1.LogView;
import dev.threadkeep.v1.NumberedPage;
import dev.threadkeep.v1.Role;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;

/**
 * Builds the filter of reads, searches and watches: {@code EventFilters.all().roles(Role.ROLE_USER).lastN(20)}. Conditions are
 * combined with AND, the values of one with OR.
 */
public final class EventFilters {
  private final EventFilter.Builder filter;

  private EventFilters(EventFilter filter) {
    this.filter = filter.toBuilder();
  }

  /**
   * Returns a filter that all events pass.
   *
   * @return a new filter
   */
  public static EventFilters all() {
    return new EventFilters(EventFilter.getDefaultInstance());
  }

  /**
   * Returns a filter with the conditions of a message.
   *
   * @param filter the message
   * @return a new filter
   */
  public static EventFilters of(EventFilter filter) {
    return new EventFilters(filter);
  }

  /**
   * Keeps events from this time on. The time of an event is its event_time or, if absent, its record_time.
   *
   * @param value earliest time, inclusive
   * @return this filter
   */
  public EventFilters fromTime(Instant value) {
    filter.setFromTime(Protos.timestamp(value));
    return this;
  }

  /**
   * Keeps events up to this time.
   *
   * @param value latest time, inclusive
   * @return this filter
   */
  public EventFilters toTime(Instant value) {
    filter.setToTime(Protos.timestamp(value));
    return this;
  }

  /**
   * Keeps events with a higher seq.
   *
   * @param seq the seq
   * @return this filter
   */
  public EventFilters afterSeq(long seq) {
    filter.setAfterSeq(seq);
    return this;
  }

  /**
   * Keeps events with a lower seq.
   *
   * @param seq the seq
   * @return this filter
   */
  public EventFilters beforeSeq(long seq) {
    filter.setBeforeSeq(seq);
    return this;
  }

  /**
   * Keeps events of these roles.
   *
   * @param values the roles, at most 16
   * @return this filter
   */
  public EventFilters roles(Role... values) {
    filter.clearRoles().addAllRoles(Arrays.asList(values));
    return this;
  }

  /**
   * Keeps events of these authors; the steps come after those that are there.
   *
   * @param authors the authors
   * @return this filter
   */
  public EventFilters authors(Authors authors) {
    filter.addAllAuthorFilters(authors.steps());
    return this;
  }

  /**
   * Leaves out synthetic events, such as summaries.
   *
   * @return this filter
   */
  public EventFilters excludeSynthetic() {
    filter.setExcludeSynthetic(true);
    return this;
  }

  /**
   * Sets the part of the log to read. Default: the whole log.
   *
   * @param value the part
   * @return this filter
   */
  public EventFilters view(LogView value) {
    filter.setView(value);
    return this;
  }

  /**
   * Keeps events of the active window only, without archived ones.
   *
   * @return this filter
   */
  public EventFilters active() {
    filter.setView(LogView.LOG_VIEW_ACTIVE);
    return this;
  }

  /**
   * Keeps events whose text contains this, after case folding.
   *
   * @param value at most 1,024 characters
   * @return this filter
   */
  public EventFilters keyword(String value) {
    filter.setKeyword(value);
    return this;
  }

  /**
   * Keeps events whose text contains any of these.
   *
   * @param values at most 64 texts
   * @return this filter
   */
  public EventFilters anyKeyword(List<String> values) {
    filter.clearKeywords().addAllKeywords(values).setKeywordMatch(KeywordMatch.KEYWORD_MATCH_ANY);
    return this;
  }

  /**
   * Keeps events whose text contains all of these.
   *
   * @param values at most 64 texts
   * @return this filter
   */
  public EventFilters allKeywords(List<String> values) {
    filter.clearKeywords().addAllKeywords(values).setKeywordMatch(KeywordMatch.KEYWORD_MATCH_ALL);
    return this;
  }

  /**
   * Keeps events of these invocations.
   *
   * @param ids at most 64 ids
   * @return this filter
   */
  public EventFilters invocationIds(List<String> ids) {
    filter.clearInvocationIds().addAllInvocationIds(ids);
    return this;
  }

  /**
   * Keeps events of these native formats.
   *
   * @param formats at most 16 formats
   * @return this filter
   */
  public EventFilters nativeFormats(List<String> formats) {
    filter.clearNativeFormats().addAllNativeFormats(formats);
    return this;
  }

  /**
   * Keeps events whose metadata has this top-level value; several must all be there.
   *
   * @param key name of the value
   * @param value a text, or the JSON text of a number or boolean
   * @return this filter
   */
  public EventFilters metadata(String key, String value) {
    filter.putMetadata(key, value);
    return this;
  }

  /**
   * Keeps events whose text this regular expression matches somewhere. Not for watches and consumers.
   *
   * @param expression in the syntax of RE2
   * @return this filter
   */
  public EventFilters pattern(String expression) {
    filter.setPattern(expression);
    return this;
  }

  /**
   * Keeps what an agent on this branch sees: events of the root, of the branch itself and of its ancestors.
   *
   * @param value the branch
   * @return this filter
   */
  public EventFilters branch(String value) {
    filter.setBranch(value).setBranchMatch(BranchMatch.BRANCH_MATCH_VISIBLE);
    return this;
  }

  /**
   * Keeps events of this branch only.
   *
   * @param value the branch; empty means the root
   * @return this filter
   */
  public EventFilters exactBranch(String value) {
    filter.setBranch(value).setBranchMatch(BranchMatch.BRANCH_MATCH_EXACT);
    return this;
  }

  /**
   * Keeps the newest matches, without a keyword extended back to the start of their turn. Replaces another window.
   *
   * @param n number of events
   * @return this filter
   */
  public EventFilters lastN(int n) {
    filter.setLastN(n);
    return this;
  }

  /**
   * Keeps the newest matches; a turn may be split. Replaces another window.
   *
   * @param n number of events
   * @return this filter
   */
  public EventFilters exactLastN(int n) {
    filter.setExactLastN(n);
    return this;
  }

  /**
   * Keeps one numbered page of the matches. Replaces another window.
   *
   * @param page number of the page, from 0
   * @param pageSize events per page
   * @return this filter
   */
  public EventFilters page(int page, int pageSize) {
    filter.setPage(NumberedPage.newBuilder().setPage(page).setPageSize(pageSize));
    return this;
  }

  /**
   * Adds the conditions of another filter: what it sets replaces what this one sets; its author steps come after
   * those that are there, and its metadata are conditions too.
   *
   * @param other the other filter, which is not changed
   * @return this filter
   */
  public EventFilters merge(EventFilters other) {
    var added = other.filter;
    if (added.hasFromTime()) {
      filter.clearFromTime();
    }
    if (added.hasToTime()) {
      filter.clearToTime();
    }
    if (added.getRolesCount() > 0) {
      filter.clearRoles();
    }
    if (added.getKeywordsCount() > 0) {
      filter.clearKeywords().clearKeywordMatch();
    }
    if (added.getInvocationIdsCount() > 0) {
      filter.clearInvocationIds();
    }
    if (added.getNativeFormatsCount() > 0) {
      filter.clearNativeFormats();
    }
    if (!added.getBranch().isEmpty() || added.getBranchMatchValue() != 0) {
      filter.clearBranch().clearBranchMatch();
    }
    if (added.getLimitCase() != EventFilter.LimitCase.LIMIT_NOT_SET) {
      filter.clearLimit();
    }
    filter.mergeFrom(added.build());
    return this;
  }

  /**
   * Returns the message of the filter.
   *
   * @return the message
   */
  public EventFilter build() {
    return filter.build();
  }
}
