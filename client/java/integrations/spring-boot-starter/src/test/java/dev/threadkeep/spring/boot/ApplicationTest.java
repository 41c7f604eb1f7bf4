package dev.threadkeep.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.spring.boot.test.ThreadkeepTestServer;
import dev.threadkeep.spring.boot.test.ThreadkeepTestServerConfiguration;
import io.micrometer.core.instrument.MeterRegistry;
import org.junit.jupiter.api.Test;
import org.springframework.ai.chat.memory.ChatMemoryRepository;
import org.springframework.ai.session.SessionRepository;
import org.springframework.ai.session.SessionService;
import org.springframework.boot.SpringApplication;

/** A real application, with all auto-configurations on the class path, and a server that its context starts. */
class ApplicationTest {
  static {
    System.setProperty("threadkeep.program", System.getenv("THREADKEEP_TEST_PROGRAM"));
  }

  @Test
  void demoOfSpringAiSessionRunsOnAServerOfTheTest() throws Exception {
    var application = new SpringApplication(Class.forName("SpringBootChat"), ThreadkeepTestServerConfiguration.class);
    String address;
    try (var context = application.run("--threadkeep.app=demo", "--threadkeep.user-id=ada", "--spring.main.banner-mode=off", "--logging.level.root=warn")) {
      address = context.getBean(ThreadkeepTestServer.class).address();
      var stored = context.getBean(SessionService.class).findByUserId("ada");
      assertThat(stored).hasSize(1);
      var client = context.getBean(ThreadkeepClient.class);
      assertThat(client.sessions().stream().map(session -> session.getRef().getSessionId())).containsExactly(stored.get(0).id());
      assertThat(context.getBean(SessionRepository.class).getClass().getName()).startsWith("dev.threadkeep");
      assertThat(context.getBean(ChatMemoryRepository.class).findConversationIds()).containsExactly(stored.get(0).id());
      assertThat(context.getBean(MeterRegistry.class).find(ThreadkeepMetrics.CALLS).timers()).isNotEmpty();
      assertThat(context.getBean(ThreadkeepHealthIndicator.class).health().getStatus().getCode()).isEqualTo("UP");
    }
    try (var client = ThreadkeepClient.builder().address(address).retry(retry -> retry.maxAttempts(1)).build()) {
      assertThatThrownBy(client::info).as("the server ended with the context").hasMessageContaining("UNAVAILABLE");
    }
  }

  @Test
  void programThatIsMissingOrFailsIsReported() {
    assertThatThrownBy(() -> ThreadkeepTestServer.start("/no/such/program")).hasMessageContaining("threadkeep.program");
    assertThatThrownBy(() -> ThreadkeepTestServer.start("false")).hasMessageContaining("does not answer");
  }
}
