package dev.threadkeep.spring.boot;

import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.ThreadkeepClientBuilder;
import dev.threadkeep.async.AsyncThreadkeepClient;
import io.grpc.ChannelCredentials;
import io.grpc.TlsChannelCredentials;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.PropertyMapper;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/** The client, which is closed with the context. It connects with its first call, so that an application starts without its server. */
@AutoConfiguration(afterName = "org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration")
@ConditionalOnClass(ThreadkeepClient.class)
@EnableConfigurationProperties(ThreadkeepProperties.class)
public class ThreadkeepAutoConfiguration {
  /** Creates the configuration; Spring does. */
  public ThreadkeepAutoConfiguration() {}

  /**
   * Returns where the server is, as the properties say.
   *
   * @param properties the properties
   * @return address and token
   */
  @Bean
  @ConditionalOnMissingBean
  ThreadkeepConnectionDetails threadkeepConnectionDetails(ThreadkeepProperties properties) {
    return new ThreadkeepConnectionDetails() {
      @Override
      public String address() {
        return properties.address();
      }

      @Override
      public String token() {
        return properties.token();
      }
    };
  }

  @Bean
  @ConditionalOnMissingBean
  ThreadkeepClient threadkeepClient(ThreadkeepProperties properties, ThreadkeepConnectionDetails connection, Environment environment,
      ObjectProvider<SslBundles> bundles, ObjectProvider<ThreadkeepClientCustomizer> customizers) {
    ThreadkeepClientBuilder client = ThreadkeepClient.builder();
    PropertyMapper map = PropertyMapper.get();
    map.from(connection::address).to(client::address);
    map.from(connection::token).to(client::token);
    map.from(properties::app).orFrom(() -> environment.getProperty("spring.application.name")).to(client::app);
    map.from(properties::userId).to(client::userId);
    map.from(properties::timeout).to(client::timeout);
    map.from(properties::maxAttempts).to(attempts -> client.retry(retry -> retry.maxAttempts(attempts)));
    map.from(properties.ssl()::bundle).as(name -> credentials(bundles.getObject().getBundle(name))).to(client::tls);
    if (properties.allowPlaintextToken()) {
      client.allowPlaintextToken();
    }
    customizers.orderedStream().forEach(each -> each.customize(client));
    return client.build();
  }

  /**
   * Returns the asynchronous client on the same connection.
   *
   * @param client the client
   * @return its asynchronous form, which is closed with it
   */
  @Bean(destroyMethod = "")
  @ConditionalOnMissingBean
  AsyncThreadkeepClient asyncThreadkeepClient(ThreadkeepClient client) {
    return client.async();
  }

  private static ChannelCredentials credentials(SslBundle bundle) {
    var credentials = TlsChannelCredentials.newBuilder().trustManager(bundle.getManagers().getTrustManagers());
    boolean identified = bundle.getStores().getKeyStore() != null;
    return identified ? credentials.keyManager(bundle.getManagers().getKeyManagers()).build() : credentials.build();
  }
}
