package dev.threadkeep;

import dev.threadkeep.internal.operations.Listing;
import java.util.Collections;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * The items of a list. Each iterator fetches pages when it reaches them, each with its own timeout, and may throw {@link
 * ThreadkeepException}.
 *
 * @param <T> type of the items
 */
public final class Pages<T> implements Iterable<T> {
  private final Calls client;
  private final Listing<T> listing;

  Pages(Calls client, Listing<T> listing) {
    this.client = client;
    this.listing = listing;
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
          Listing.Page<T> page = client.run(listing.page(token));
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
