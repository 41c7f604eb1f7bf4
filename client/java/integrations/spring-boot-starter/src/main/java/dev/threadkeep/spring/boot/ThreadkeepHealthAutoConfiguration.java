package dev.threadkeep.spring.boot;

import dev.threadkeep.ThreadkeepClient;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/** The health of the server, unless {@code management.health.threadkeep.enabled} is false. */
@AutoConfiguration(after = ThreadkeepAutoConfiguration.class)
@ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
@ConditionalOnSingleCandidate(ThreadkeepClient.class)
public class ThreadkeepHealthAutoConfiguration {
  /** Creates the configuration; Spring does. */
  public ThreadkeepHealthAutoConfiguration() {}

  @Bean
  @ConditionalOnEnabledHealthIndicator("threadkeep")
  @ConditionalOnMissingBean(name = {"threadkeepHealthIndicator", "threadkeepHealthContributor"})
  ThreadkeepHealthIndicator threadkeepHealthIndicator(ThreadkeepClient client) {
    return new ThreadkeepHealthIndicator(client);
  }
}
