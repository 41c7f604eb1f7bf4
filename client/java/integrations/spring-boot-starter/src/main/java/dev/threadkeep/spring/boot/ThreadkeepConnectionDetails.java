package dev.threadkeep.spring.boot;

import org.springframework.boot.autoconfigure.service.connection.ConnectionDetails;

/** Where the server is. A bean of this type takes the place of the properties {@code threadkeep.address} and {@code threadkeep.token}. */
public interface ThreadkeepConnectionDetails extends ConnectionDetails {
  /**
   * Returns the address of the server.
   *
   * @return "host:port" or "host", after "https://" for TLS; null is the client's default
   */
  String address();

  /**
   * Returns the token of the calls.
   *
   * @return the token; null is the client's default
   */
  default String token() {
    return null;
  }
}
