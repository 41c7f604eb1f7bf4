package dev.threadkeep.spring.boot;

import dev.threadkeep.ThreadkeepClient;
import java.time.Duration;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/** Calls GetServerInfo: up with the version of the server, down if there is no answer within five seconds. */
public final class ThreadkeepHealthIndicator extends AbstractHealthIndicator {
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  private final ThreadkeepClient client;

  /**
   * Creates the indicator.
   *
   * @param client client of the server
   */
  public ThreadkeepHealthIndicator(ThreadkeepClient client) {
    super("the Threadkeep server does not answer");
    this.client = client.withTimeout(PATIENCE);
  }

  @Override
  protected void doHealthCheck(Health.Builder health) {
    health.up().withDetail("version", client.info().getVersion());
  }
}
