package dev.threadkeep.spring.boot;

import dev.threadkeep.ThreadkeepClient;
import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/** The timer {@code threadkeep.client.calls}, if the application has a meter registry. */
@AutoConfiguration(
    before = ThreadkeepAutoConfiguration.class,
    afterName = "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration")
@ConditionalOnClass({MeterRegistry.class, ThreadkeepClient.class})
@ConditionalOnBean(MeterRegistry.class)
public class ThreadkeepMetricsAutoConfiguration {
  /** Creates the configuration; Spring does. */
  public ThreadkeepMetricsAutoConfiguration() {}

  @Bean
  @ConditionalOnMissingBean
  ThreadkeepMetrics threadkeepMetrics(MeterRegistry registry) {
    return new ThreadkeepMetrics(registry);
  }
}
