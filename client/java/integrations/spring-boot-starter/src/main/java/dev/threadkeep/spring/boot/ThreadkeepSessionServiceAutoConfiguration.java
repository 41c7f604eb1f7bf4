package dev.threadkeep.spring.boot;

import org.springframework.ai.session.DefaultSessionService;
import org.springframework.ai.session.SessionRepository;
import org.springframework.ai.session.SessionService;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/** The session service of Spring AI Session, where neither the application nor Spring AI Session's own auto-configuration has made one. */
@AutoConfiguration(
    after = ThreadkeepRepositoriesAutoConfiguration.class,
    afterName = "org.springaicommunity.session.autoconfigure.SessionServiceAutoConfiguration")
@ConditionalOnClass(SessionService.class)
@ConditionalOnSingleCandidate(SessionRepository.class)
public class ThreadkeepSessionServiceAutoConfiguration {
  /** Creates the configuration; Spring does. */
  public ThreadkeepSessionServiceAutoConfiguration() {}

  @Bean
  @ConditionalOnMissingBean(SessionService.class)
  DefaultSessionService sessionService(SessionRepository repository) {
    return DefaultSessionService.builder().sessionRepository(repository).build();
  }
}
