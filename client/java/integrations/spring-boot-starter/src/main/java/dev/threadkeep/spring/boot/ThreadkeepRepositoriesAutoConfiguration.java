package dev.threadkeep.spring.boot;

import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.spring.ai.ThreadkeepChatMemoryRepository;
import dev.threadkeep.spring.ai.ThreadkeepSessionRepository;
import org.springframework.ai.chat.memory.ChatMemoryRepository;
import org.springframework.ai.session.SessionRepository;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * The repositories of Spring AI Session and of Spring AI's chat memory. They come before those that Spring AI configures itself, which
 * then are not made.
 */
@AutoConfiguration(
    after = ThreadkeepAutoConfiguration.class,
    beforeName = {
      "org.springaicommunity.session.autoconfigure.SessionServiceAutoConfiguration",
      "org.springaicommunity.session.jdbc.autoconfigure.JdbcSessionRepositoryAutoConfiguration",
      "org.springframework.ai.model.chat.memory.autoconfigure.ChatMemoryAutoConfiguration",
      "org.springframework.ai.model.chat.memory.repository.jdbc.autoconfigure.JdbcChatMemoryRepositoryAutoConfiguration"
    })
@ConditionalOnSingleCandidate(ThreadkeepClient.class)
public class ThreadkeepRepositoriesAutoConfiguration {
  /** Creates the configuration; Spring does. */
  public ThreadkeepRepositoriesAutoConfiguration() {}

  /** Sessions, if the application has Spring AI Session. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(SessionRepository.class)
  static class Sessions {
    @Bean
    @ConditionalOnMissingBean(SessionRepository.class)
    ThreadkeepSessionRepository threadkeepSessionRepository(ThreadkeepClient client) {
      return new ThreadkeepSessionRepository(client);
    }
  }

  /** Conversations of chat memories. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(ChatMemoryRepository.class)
  static class ChatMemories {
    @Bean
    @ConditionalOnMissingBean(ChatMemoryRepository.class)
    ThreadkeepChatMemoryRepository threadkeepChatMemoryRepository(ThreadkeepClient client) {
      return new ThreadkeepChatMemoryRepository(client);
    }
  }
}
