package dev.threadkeep.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.async.AsyncThreadkeepClient;
import dev.threadkeep.spring.ai.ThreadkeepChatMemoryRepository;
import dev.threadkeep.spring.ai.ThreadkeepSessionRepository;
import dev.threadkeep.v1.AppendEventsRequest;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.springframework.ai.chat.memory.ChatMemoryRepository;
import org.springframework.ai.chat.memory.InMemoryChatMemoryRepository;
import org.springframework.ai.session.InMemorySessionRepository;
import org.springframework.ai.session.Session;
import org.springframework.ai.session.SessionRepository;
import org.springframework.ai.session.SessionService;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** What the auto-configuration makes, and when it does not. */
class AutoConfigurationTest {
  private static final String ADDRESS = System.getenv("THREADKEEP_TEST_ADDRESS");
  private final ApplicationContextRunner runner = new ApplicationContextRunner()
      .withConfiguration(AutoConfigurations.of(SslAutoConfiguration.class, ThreadkeepAutoConfiguration.class, ThreadkeepHealthAutoConfiguration.class,
          ThreadkeepMetricsAutoConfiguration.class, ThreadkeepRepositoriesAutoConfiguration.class, ThreadkeepSessionServiceAutoConfiguration.class))
      .withPropertyValues("threadkeep.address=" + ADDRESS, "threadkeep.app=boot");

  @Test
  void classesOfTheImportsFileAreThese() throws Exception {
    try (var file = getClass().getResourceAsStream("/META-INF/spring/org.springframework.boot.autoconfigure.AutoConfiguration.imports")) {
      var named = new String(file.readAllBytes(), java.nio.charset.StandardCharsets.UTF_8).lines().toList();
      assertThat(named).containsExactlyInAnyOrder(ThreadkeepAutoConfiguration.class.getName(), ThreadkeepHealthAutoConfiguration.class.getName(),
          ThreadkeepMetricsAutoConfiguration.class.getName(), ThreadkeepRepositoriesAutoConfiguration.class.getName(),
          ThreadkeepSessionServiceAutoConfiguration.class.getName());
    }
  }

  @Test
  void beansAreMadeAndReachTheServer() {
    runner.run(context -> {
      assertThat(context).hasSingleBean(ThreadkeepClient.class).hasSingleBean(AsyncThreadkeepClient.class).hasSingleBean(SessionService.class)
          .hasSingleBean(ThreadkeepSessionRepository.class).hasSingleBean(ThreadkeepChatMemoryRepository.class);
      String id = UUID.randomUUID().toString();
      context.getBean(SessionRepository.class).save(Session.builder().id(id).userId("ada").build());
      assertThat(context.getBean(SessionService.class).findById(id).userId()).isEqualTo("ada");
      assertThat(context.getBean(AsyncThreadkeepClient.class).ref(id).getApp()).isEqualTo("boot");
    });
  }

  @Test
  void beansOfTheApplicationTakeTheirPlace() {
    runner.withBean("own", ThreadkeepClient.class, () -> ThreadkeepClient.builder().address(ADDRESS).app("own").build())
        .withBean(SessionRepository.class, () -> InMemorySessionRepository.builder().build())
        .withBean(ChatMemoryRepository.class, InMemoryChatMemoryRepository::new)
        .run(context -> {
          assertThat(context).hasSingleBean(ThreadkeepClient.class).doesNotHaveBean("threadkeepClient");
          assertThat(context.getBean(AsyncThreadkeepClient.class).ref("s").getApp()).isEqualTo("own");
          assertThat(context).hasSingleBean(SessionRepository.class).doesNotHaveBean(ThreadkeepSessionRepository.class);
          assertThat(context).hasSingleBean(ChatMemoryRepository.class).doesNotHaveBean(ThreadkeepChatMemoryRepository.class);
        });
  }

  @Test
  void propertiesAreThoseOfTheClient() {
    runner.withPropertyValues("threadkeep.user-id=ada", "threadkeep.token=secret", "threadkeep.timeout=7s", "threadkeep.max-attempts=2",
        "threadkeep.allow-plaintext-token=true", "threadkeep.address=example.org").run(context -> {
          var ref = context.getBean(ThreadkeepClient.class).ref("s1");
          assertThat(ref.getApp() + "/" + ref.getUserId()).isEqualTo("boot/ada");
          var properties = context.getBean(ThreadkeepProperties.class);
          assertThat(properties.timeout()).hasSeconds(7);
          assertThat(properties.maxAttempts()).isEqualTo(2);
        });
  }

  @Test
  void tokenIsNotSentOverANetworkWithoutTls() {
    runner.withPropertyValues("threadkeep.token=secret", "threadkeep.address=example.org")
        .run(context -> assertThat(context).getFailure().rootCause().hasMessageContaining("unencrypted"));
  }

  @Test
  void nameOfTheApplicationIsTheAppByDefault() {
    runner.withPropertyValues("threadkeep.app=", "spring.application.name=shop")
        .run(context -> assertThat(context.getBean(ThreadkeepClient.class).ref("s1").getApp()).isEmpty());
    new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(ThreadkeepAutoConfiguration.class)).withPropertyValues("spring.application.name=shop")
        .run(context -> assertThat(context.getBean(ThreadkeepClient.class).ref("s1").getApp()).isEqualTo("shop"));
  }

  @Test
  void sslBundleEncrypts() {
    runner.withPropertyValues("spring.ssl.bundle.pem.trusted.truststore.certificate=classpath:ca.pem", "threadkeep.ssl.bundle=trusted",
        "threadkeep.address=https://localhost:1", "threadkeep.max-attempts=1").run(context -> assertThat(context).hasSingleBean(ThreadkeepClient.class));
    runner.withPropertyValues("spring.ssl.bundle.pem.trusted.truststore.certificate=classpath:ca.pem", "threadkeep.ssl.bundle=trusted",
        "threadkeep.address=http://localhost:1").run(context -> assertThat(context).getFailure().rootCause().hasMessageContaining("contradicts"));
    runner.withPropertyValues("threadkeep.ssl.bundle=unknown").run(context -> assertThat(context).getFailure().rootCause().hasMessageContaining("unknown"));
  }

  @Test
  void connectionDetailsTakeThePlaceOfTheProperties() {
    runner.withPropertyValues("threadkeep.address=nowhere.example:1").withBean(ThreadkeepConnectionDetails.class, () -> () -> ADDRESS)
        .run(context -> assertThat(context.getBean(ThreadkeepClient.class).info().getVersion()).isNotEmpty());
  }

  @Test
  void customizerComesLast() {
    runner.withBean(ThreadkeepClientCustomizer.class, () -> builder -> builder.app("customized"))
        .run(context -> assertThat(context.getBean(ThreadkeepClient.class).ref("s").getApp()).isEqualTo("customized"));
  }

  @Test
  void clientIsClosedWithTheContext() {
    var kept = new ThreadkeepClient[1];
    runner.run(context -> kept[0] = context.getBean(ThreadkeepClient.class));
    assertThat(org.junit.jupiter.api.Assertions.assertThrows(RuntimeException.class, () -> kept[0].info())).isNotNull();
  }

  @Test
  void contextStartsWithoutAServerAndItsHealthIsDown() {
    runner.withPropertyValues("threadkeep.address=127.0.0.1:1", "threadkeep.max-attempts=1").run(context -> {
      assertThat(context).hasNotFailed();
      var health = context.getBean("threadkeepHealthIndicator", HealthIndicator.class).health();
      assertThat(health.getStatus()).isEqualTo(Status.DOWN);
      assertThat(health.getDetails().get("error").toString()).contains("UNAVAILABLE");
    });
  }

  @Test
  void healthIsUpWithTheVersionOfTheServer() {
    runner.run(context -> {
      var health = context.getBean("threadkeepHealthIndicator", HealthIndicator.class).health();
      assertThat(health.getStatus()).isEqualTo(Status.UP);
      assertThat(health.getDetails()).containsKey("version");
    });
  }

  @Test
  void healthCanBeTurnedOffAndIsNotNeeded() {
    runner.withPropertyValues("management.health.threadkeep.enabled=false").run(context -> assertThat(context).doesNotHaveBean(HealthIndicator.class));
    runner.withClassLoader(new FilteredClassLoader("org.springframework.boot.health"))
        .run(context -> assertThat(context).hasNotFailed().hasSingleBean(ThreadkeepClient.class));
  }

  @Test
  void callsAreTimedByServiceMethodAndStatus() {
    runner.withBean(MeterRegistry.class, SimpleMeterRegistry::new).run(context -> {
      var client = context.getBean(ThreadkeepClient.class);
      client.info();
      org.junit.jupiter.api.Assertions.assertThrows(RuntimeException.class,
          () -> client.call(dev.threadkeep.v1.EventServiceGrpc.getAppendEventsMethod(), AppendEventsRequest.getDefaultInstance()));
      var registry = context.getBean(MeterRegistry.class);
      assertThat(registry.get(ThreadkeepMetrics.CALLS).tags("method", "GetServerInfo", "status", "OK").timer().count()).isEqualTo(1);
      assertThat(registry.get(ThreadkeepMetrics.CALLS).tags("service", "threadkeep.v1.EventService", "status", "INVALID_ARGUMENT").timer().count()).isEqualTo(1);
    });
  }

  @Test
  void micrometerIsNotNeeded() {
    runner.run(context -> assertThat(context).doesNotHaveBean(ThreadkeepMetrics.class));
    runner.withClassLoader(new FilteredClassLoader(MeterRegistry.class)).run(context -> assertThat(context).hasNotFailed().hasSingleBean(ThreadkeepClient.class));
  }

  @Test
  void springAiSessionIsNotNeeded() {
    runner.withClassLoader(new FilteredClassLoader("org.springframework.ai.session"))
        .run(context -> assertThat(context).hasNotFailed().hasSingleBean(ThreadkeepClient.class).doesNotHaveBean("threadkeepSessionRepository"));
  }

  @Test
  void everyPropertyHasMetadata() throws Exception {
    try (var file = getClass().getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
      var metadata = tools.jackson.databind.json.JsonMapper.shared().readTree(file);
      var named = metadata.get("properties").valueStream().map(each -> each.get("name").asString()).toList();
      for (var property : ThreadkeepProperties.class.getRecordComponents()) {
        String name = "threadkeep." + property.getName().replaceAll("([A-Z])", "-$1").toLowerCase(java.util.Locale.ROOT);
        assertThat(named).contains(name.equals("threadkeep.ssl") ? "threadkeep.ssl.bundle" : name);
      }
      metadata.get("properties").forEach(each -> assertThat(each.get("description").asString()).endsWith("."));
    }
  }
}
