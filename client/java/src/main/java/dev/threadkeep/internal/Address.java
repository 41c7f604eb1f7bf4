package dev.threadkeep.internal;

import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A server address.
 *
 * @param authority "host:port", or a gRPC target such as "dns:///host:port"
 * @param tls whether the scheme is https; empty without a scheme
 */
public record Address(String authority, Optional<Boolean> tls) {
  private static final String DEFAULT_PORT = "7443";
  private static final Pattern ADDRESS =
      Pattern.compile(
          "(?:(?<scheme>https?)://)?(?<host>\\[[0-9a-f:.%]+\\]|[^\\s/?#@:\\[\\]]+|[0-9a-f]*:[0-9a-f.]*:[0-9a-f:.]*)(?::(?<port>\\d{1,5}))?/?",
          Pattern.CASE_INSENSITIVE);
  private static final Pattern LOOPBACK =
      Pattern.compile("(([^:]+\\.)?localhost|127(\\.\\d{1,3}){3}|\\[::1\\]):\\d+|unix:.*", Pattern.CASE_INSENSITIVE);

  /** Targets that gRPC's own resolvers parse. */
  private static final Pattern GRPC_TARGET = Pattern.compile("(dns|unix|xds):(?!\\d+$).*");

  /** Parses "host:port" or "host", optionally after "https://" or "http://"; a gRPC target is kept unchanged. */
  public static Address of(String address) {
    if (GRPC_TARGET.matcher(address).matches()) {
      return new Address(address, Optional.empty());
    }
    var read = ADDRESS.matcher(address.strip());
    String port = read.matches() ? Optional.ofNullable(read.group("port")).orElse(DEFAULT_PORT) : "0";
    if (Integer.parseInt(port) < 1 || Integer.parseInt(port) > 65_535) {
      throw new IllegalArgumentException(
          "the address \"%s\" is invalid: use \"host:port\", or \"https://host:port\" for TLS".formatted(address));
    }
    String host = read.group("host");
    String bracketed = host.contains(":") && !host.startsWith("[") ? "[" + host + "]" : host;
    return new Address(bracketed + ":" + port, Optional.ofNullable(read.group("scheme")).map("https"::equalsIgnoreCase));
  }

  /** Returns whether the address is on this machine. */
  public boolean isLoopback() {
    return LOOPBACK.matcher(authority).matches();
  }
}
