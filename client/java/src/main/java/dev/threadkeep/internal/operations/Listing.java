package dev.threadkeep.internal.operations;

import com.google.protobuf.Message;
import dev.threadkeep.internal.Protos;
import io.grpc.MethodDescriptor;
import java.util.List;
import java.util.function.Function;

/**
 * The pages of a list.
 *
 * @param <T> type of the items
 */
@FunctionalInterface
public interface Listing<T> {
  /** A page and the token of the next one, empty for the last page. */
  record Page<T>(List<T> items, String next) {}

  /** Returns the page with a token; the first page for an empty token. */
  Operation<Page<T>> page(String token);

  /** Returns the pages of a request, by its page_token and the next_page_token of the response. */
  static <Q extends Message, R extends Message, T> Listing<T> of(MethodDescriptor<Q, R> method, Q request, Function<R, List<T>> items) {
    return token ->
        Operation.of(
            method,
            Protos.from(request, "page_token", token),
            page -> {
              var next = page.getDescriptorForType().findFieldByName("next_page_token");
              return new Page<>(items.apply(page), (String) page.getField(next));
            });
  }
}
