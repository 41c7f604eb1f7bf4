package dev.recollect;

import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Queue;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * All items of a list of the server. Each iterator fetches page after page, as it gets there, each with its own timeout; what it may
 * throw is a {@link RecollectException}.
 *
 * @param <T> the items
 */
public final class Pages<T> implements Iterable<T> {
  /** A page and the token of the next, empty if it is the last. */
  record Page<T>(List<T> items, String next) {}

  private final Function<String, Page<T>> fetch;
  private final String first;

  Pages(String first, Function<String, Page<T>> fetch) {
    this.first = first;
    this.fetch = fetch;
  }

  @Override
  public Iterator<T> iterator() {
    return new Items();
  }

  /**
   * The items as a stream.
   *
   * @return a sequential, ordered stream, which fetches a page when it gets there
   */
  public Stream<T> stream() {
    return StreamSupport.stream(spliterator(), false);
  }

  private final class Items implements Iterator<T> {
    private final Queue<T> ready = new ArrayDeque<>();
    private String token = first;
    private boolean more = true;

    @Override
    public boolean hasNext() {
      while (ready.isEmpty() && more) {
        Page<T> page = fetch.apply(token);
        ready.addAll(page.items());
        token = page.next();
        more = !token.isEmpty();
      }
      return !ready.isEmpty();
    }

    @Override
    public T next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return ready.remove();
    }
  }
}
