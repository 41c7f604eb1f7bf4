package dev.threadkeep.spring.boot.test;

import dev.threadkeep.spring.boot.ThreadkeepConnectionDetails;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * A server for the tests of an application: {@code @Import(ThreadkeepTestServerConfiguration.class)} on a test starts it, connects the
 * client to it, and ends it with the context.
 */
@Configuration(proxyBeanMethods = false)
public class ThreadkeepTestServerConfiguration {
  /** Creates the configuration; Spring does. */
  public ThreadkeepTestServerConfiguration() {}

  @Bean
  ThreadkeepTestServer threadkeepTestServer() {
    return ThreadkeepTestServer.start();
  }

  @Bean
  ThreadkeepConnectionDetails threadkeepTestConnectionDetails(ThreadkeepTestServer server) {
    return server::address;
  }
}
