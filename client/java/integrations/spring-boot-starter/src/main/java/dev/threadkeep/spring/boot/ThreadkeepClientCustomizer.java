package dev.threadkeep.spring.boot;

import dev.threadkeep.ThreadkeepClientBuilder;

/** Changes the client before it is built, after the properties are set: a bean of the application, for settings without a property. */
@FunctionalInterface
public interface ThreadkeepClientCustomizer {
  /**
   * Changes the client.
   *
   * @param builder builder of the client
   */
  void customize(ThreadkeepClientBuilder builder);
}
