package dev.threadkeep.spring.boot;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties {@code threadkeep.*}. What is null is left to the client: see {@link dev.threadkeep.ThreadkeepClientBuilder}.
 *
 * @param address address of the server, "host:port" or "host", after "https://" for TLS
 * @param token token of the calls
 * @param allowPlaintextToken whether the token is sent to other machines without TLS too; default: false
 * @param app app whose sessions are read and written; default: spring.application.name
 * @param userId user of the client, who owns the conversations of a chat memory
 * @param timeout timeout of a call, retries included; zero is no limit; default: 30 seconds
 * @param maxAttempts how often a call that is safe to repeat is attempted; default: 5
 * @param ssl TLS
 */
@ConfigurationProperties("threadkeep")
public record ThreadkeepProperties(
    String address, String token, @DefaultValue("false") boolean allowPlaintextToken, String app, String userId, Duration timeout,
    Integer maxAttempts, @DefaultValue Ssl ssl) {

  /**
   * The properties {@code threadkeep.ssl.*}.
   *
   * @param bundle name of the SSL bundle with the certificates to trust and, for mTLS, the client's own
   */
  public record Ssl(String bundle) {}
}
