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
 * All items of a list of the server. Each iterator fetches page after page, as it gets there, each with its own timeout; what it may
 * throw is a {@link ThreadkeepException}.
 *
 * @param <T> the items
 */
public final class Pages<T> implements Iterable<T> {
  /** A page and the token of the next, empty if it is the last. */
  record Page<T>(List<T> items, String next) {}

  private final Function<String, Page<T>> fetch;

  /** What fetches the page with a token, with an empty one the first. */
  Pages(Function<String, Page<T>> fetch) {
    this.fetch = fetch;
  }

  /** What a request of a list finds, by the tokens in its page_token and the response's next_page_token. */
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
   * The items as a stream.
   *
   * @return a sequential, ordered stream, which fetches a page when it gets there
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
