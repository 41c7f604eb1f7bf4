package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.threadkeep.internal.Address;
import dev.threadkeep.v1.ListSessionsRequest;
import dev.threadkeep.v1.SessionServiceGrpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.TlsChannelCredentials;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(30)
class AddressTest {
  private static final int TLS_HANDSHAKE = 22;

  @ParameterizedTest
  @CsvSource({
    "there:1, there:1", "dns:1, dns:1", "there, there:7443", "10.0.0.1, 10.0.0.1:7443", "http://there:1, there:1", "http://there, there:7443",
    "https://tk.example, tk.example:7443", "HTTPS://tk.example:443/, tk.example:443", "[::1]:9, [::1]:9", "[::1], [::1]:7443", "::1, [::1]:7443", "dns:///there:1, dns:///there:1"
  })
  void anAddressIsAHostAndAPort(String address, String authority) {
    assertEquals(authority, Address.of(address).authority());
  }

  @Test
  void schemeSelectsTls() {
    assertEquals(Optional.of(true), Address.of("https://there").tls());
    assertEquals(Optional.of(false), Address.of("http://there").tls());
    assertEquals(Optional.empty(), Address.of("there").tls());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "a b", "ftp://there", "there:0", "there:65536", "there:http", ":7443", "https://there:1/path", "user@there"})
  void anAddressThatIsNoneIsRefusedWithItsForms(String address) {
    var error = assertThrows(IllegalArgumentException.class, () -> ThreadkeepClient.builder().address(address).build());
    assertTrue(error.getMessage().contains("\"" + address + "\" is invalid: use \"host:port\""), error.getMessage());
  }

  @Test
  void httpsAddressTurnsTlsOn() throws Exception {
    assertEquals(TLS_HANDSHAKE, firstByteTo("https://127.0.0.1:"));
    assertEquals('P', firstByteTo("http://127.0.0.1:"), "the preface of HTTP/2");
    assertEquals('P', firstByteTo("127.0.0.1:"));
  }

  private static int firstByteTo(String prefix) throws Exception {
    try (var door = new ServerSocket(0);
        var client = new ThreadkeepClientBuilder(Map.of("THREADKEEP_ADDRESS", prefix + door.getLocalPort())).build()) {
      var call = client.callAsync(SessionServiceGrpc.getListSessionsMethod(), ListSessionsRequest.getDefaultInstance());
      try (var socket = door.accept()) {
        return socket.getInputStream().read();
      } finally {
        call.cancel(true);
      }
    }
  }

  @Test
  void contradictingSchemeIsRejected() {
    var plain = ThreadkeepClient.builder().address("http://there").tls(TlsChannelCredentials.create());
    assertThrows(IllegalArgumentException.class, plain::build);
    var secure = ThreadkeepClient.builder().address("https://there").tls(InsecureChannelCredentials.create());
    assertThrows(IllegalArgumentException.class, secure::build);
  }

  @ParameterizedTest
  @ValueSource(strings = {"10.0.0.1", "http://tk.example:7443", "localhost.example", "127.0.0.1.example", "0.0.0.0", "dns:///there:1"})
  void aTokenWithoutTlsIsRefusedBeyondLoopback(String address) {
    var builder = ThreadkeepClient.builder().address(address).token("secret");
    var error = assertThrows(IllegalArgumentException.class, builder::build);
    assertTrue(error.getMessage().contains("unencrypted; use the address \"https://"), error.getMessage());
    builder.allowPlaintextToken().build().close();
    ThreadkeepClient.builder().address(address).token("").build().close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"https://10.0.0.1", "127.0.0.1:1", "127.1.2.3", "localhost", "LOCALHOST:1", "[::1]", "::1", "tk.localhost", "unix:/run/threadkeep.sock"})
  void aTokenMayGoOverTlsAndToLoopback(String address) {
    ThreadkeepClient.builder().address(address).token("secret").build().close();
  }

  @Test
  void aPortThatSpeaksHttp1IsSaidToBeNoGrpcPort() throws IOException {
    try (var door = new ServerSocket(0)) {
      var porter = new Thread(() -> answerInHttp1(door));
      porter.setDaemon(true);
      porter.start();
      try (var client = ThreadkeepClient.builder().address("127.0.0.1:" + door.getLocalPort()).token("").timeout(Duration.ofSeconds(10)).build()) {
        var error = assertThrows(ThreadkeepException.class, () -> client.session("s").append(Events.user("Hi")));
        assertTrue(error.getMessage().contains("does not respond in gRPC"), error.getMessage());
        assertTrue(error.getMessage().contains("use the server's gRPC port, by default 7443"), error.getMessage());
      }
    }
  }

  private static void answerInHttp1(ServerSocket door) {
    while (!door.isClosed()) {
      try (var socket = door.accept()) {
        socket.getOutputStream().write("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        socket.shutdownOutput();
        socket.getInputStream().readAllBytes();
      } catch (IOException closed) {
        continue;
      }
    }
  }
}
