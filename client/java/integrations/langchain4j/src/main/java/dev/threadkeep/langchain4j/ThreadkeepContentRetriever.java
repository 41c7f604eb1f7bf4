package dev.threadkeep.langchain4j;

import dev.langchain4j.data.document.Metadata;
import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.rag.content.Content;
import dev.langchain4j.rag.content.ContentMetadata;
import dev.langchain4j.rag.content.retriever.ContentRetriever;
import dev.langchain4j.rag.query.Query;
import dev.threadkeep.Events;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.v1.MemoryEntry;
import dev.threadkeep.v1.SearchHit;
import java.util.List;
import java.util.Map;

/**
 * Retrieves what was said: messages of the user's sessions, also those that a memory evicted and those of other frameworks, or the
 * user's long-term memory. The server searches. It is thread-safe and valid as long as its client, which it does not close.
 */
public final class ThreadkeepContentRetriever implements ContentRetriever {
  private static final int LONGEST_QUERY = 1024;

  private final ThreadkeepClient client;
  private final boolean memory;
  private final int maxResults;

  private ThreadkeepContentRetriever(ThreadkeepClient client, boolean memory, int maxResults) {
    this.client = client;
    this.memory = memory;
    this.maxResults = maxResults;
  }

  /**
   * Returns a retriever over all sessions of the client's user and app. Messages that are in the memory of the query are left out.
   *
   * @param client the client
   * @param maxResults maximum number of contents, at least 1
   * @return the retriever
   */
  public static ThreadkeepContentRetriever ofSessions(ThreadkeepClient client, int maxResults) {
    return new ThreadkeepContentRetriever(client, false, maxResults);
  }

  /**
   * Returns a retriever over the long-term memory of the client's user and app.
   *
   * @param client the client
   * @param maxResults maximum number of contents, from 1 to 100
   * @return the retriever
   */
  public static ThreadkeepContentRetriever ofMemory(ThreadkeepClient client, int maxResults) {
    return new ThreadkeepContentRetriever(client, true, maxResults);
  }

  @Override
  public List<Content> retrieve(Query query) {
    String text = query.text().substring(0, query.text().offsetByCodePoints(0, Math.min(LONGEST_QUERY, query.text().codePointCount(0, query.text().length()))));
    if (memory) {
      return client.memory().search(text, o -> o.topK(maxResults)).getEntriesList().stream().map(ThreadkeepContentRetriever::content).toList();
    }
    String own = query.metadata() == null || query.metadata().chatMemoryId() == null ? "" : query.metadata().chatMemoryId().toString();
    return client.search(text).stream()
        .filter(hit -> hit.getEvent().getArchived() || !hit.getSession().getSessionId().equals(own))
        .filter(hit -> !Events.textOf(hit.getEvent()).isBlank())
        .limit(maxResults)
        .map(ThreadkeepContentRetriever::content)
        .toList();
  }

  private static Content content(SearchHit hit) {
    var metadata = Metadata.from("session_id", hit.getSession().getSessionId())
        .put("event_id", hit.getEvent().getEventId())
        .put("role", hit.getEvent().getMessage().getRole().name().substring("ROLE_".length()).toLowerCase(java.util.Locale.ROOT));
    var segment = TextSegment.from(Events.textOf(hit.getEvent()), metadata);
    return Content.from(segment, Map.of(ContentMetadata.SCORE, hit.getScore(), ContentMetadata.EMBEDDING_ID, hit.getEvent().getEventId()));
  }

  private static Content content(MemoryEntry entry) {
    var metadata = Metadata.from("session_id", entry.getSessionId()).put("entry_id", entry.getId());
    return Content.from(TextSegment.from(Events.textOf(entry), metadata), Map.of(ContentMetadata.EMBEDDING_ID, entry.getId()));
  }
}
