package dev.threadkeep;

import com.google.protobuf.Message;
import io.grpc.MethodDescriptor;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * The items of a list. Each iterator fetches pages when it reaches them, each with its own timeout, and may throw {@link
 * ThreadkeepException}.
 *
 * @param <T> type of the items
 */
public final class Pages<T> implements Iterable<T> {
  /** A page and the token of the next one, empty for the last page. */
  record Page<T>(List<T> items, String next) {}

  private final Function<String, Page<T>> fetch;

  /** Fetches the page with a token; the first page for an empty token. */
  Pages(Function<String, Page<T>> fetch) {
    this.fetch = fetch;
  }

  /** Returns the pages of a list request, by its page_token and the next_page_token of the response. */
  static <Q extends Message, R extends Message, T> Pages<T> of(
      Calls client, MethodDescriptor<Q, R> method, Q request, Function<R, List<T>> items) {
    return new Pages<>(
        token -> {
          R page = client.call(method, Connection.from(request, "page_token", token));
          var next = page.getDescriptorForType().findFieldByName("next_page_token");
          return new Page<>(items.apply(page), (String) page.getField(next));
        });
  }

  /**
   * Returns the items as a stream.
   *
   * @return a sequential, ordered stream that fetches pages when it reaches them
   */
  public Stream<T> stream() {
    return StreamSupport.stream(spliterator(), false);
  }

  @Override
  public Iterator<T> iterator() {
    return new Iterator<>() {
      private Iterator<T> items = Collections.emptyIterator();
      private String token = "";
      private boolean more = true;

      @Override
      public boolean hasNext() {
        while (!items.hasNext() && more) {
          Page<T> page = fetch.apply(token);
          items = page.items().iterator();
          token = page.next();
          more = !token.isEmpty();
        }
        return items.hasNext();
      }

      @Override
      public T next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        return items.next();
      }
    };
  }
}
