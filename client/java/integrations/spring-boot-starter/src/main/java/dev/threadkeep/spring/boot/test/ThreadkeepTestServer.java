package dev.threadkeep.spring.boot.test;

import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.ThreadkeepException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A server for tests: a process that keeps everything in memory and listens on a free port of this machine. It needs no container, and
 * ends with {@link #close}, at the latest with this JVM.
 *
 * <p>The program is that of the system property {@code threadkeep.program}, else of the variable THREADKEEP_PROGRAM, else {@code
 * threadkeep} on the path.
 */
public final class ThreadkeepTestServer implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final int ATTEMPTS = 3;
  private static final String PROGRAM = "threadkeep";

  private final String address;
  private final Process process;
  private final Path output;

  private ThreadkeepTestServer(String address, Process process, Path output) {
    this.address = address;
    this.process = process;
    this.output = output;
  }

  /**
   * Starts a server and waits until it answers.
   *
   * @return the server
   * @throws IllegalStateException if it cannot be started or does not answer within a minute, with what it printed
   */
  public static ThreadkeepTestServer start() {
    return start(program());
  }

  /**
   * Starts a server and waits until it answers.
   *
   * @param program path of the program {@code threadkeep}
   * @return the server
   * @throws IllegalStateException if it cannot be started or does not answer within a minute, with what it printed
   */
  public static ThreadkeepTestServer start(String program) {
    for (int attempt = 1; ; attempt++) {
      try {
        return started(program);
      } catch (IllegalStateException error) { // such as a port that another process took meanwhile
        if (attempt == ATTEMPTS || error.getCause() instanceof IOException) {
          throw error;
        }
      }
    }
  }

  /**
   * Returns the address of the server.
   *
   * @return "host:port" of its gRPC port
   */
  public String address() {
    return address;
  }

  /** Ends the server. Everything in it is lost. */
  @Override
  public void close() {
    process.destroy();
    try {
      if (!process.waitFor(5, TimeUnit.SECONDS)) {
        process.destroyForcibly().waitFor();
      }
      Files.deleteIfExists(output);
    } catch (IOException ignored) {
      output.toFile().deleteOnExit();
    } catch (InterruptedException interrupted) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }

  private static String program() {
    String named = System.getProperty("threadkeep.program", System.getenv("THREADKEEP_PROGRAM"));
    return Optional.ofNullable(named).filter(name -> !name.isBlank()).orElse(PROGRAM);
  }

  private static ThreadkeepTestServer started(String program) {
    try {
      String address = "127.0.0.1:" + freePort();
      Path output = Files.createTempFile("threadkeep-test-server", ".log");
      var command = List.of(program, "serve", "--database-url", "memory://", "--grpc-address", address, "--http-address", "");
      Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile()).start();
      Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
      var server = new ThreadkeepTestServer(address, process, output);
      server.await();
      return server;
    } catch (IOException error) {
      String how = "; set the system property threadkeep.program or the variable THREADKEEP_PROGRAM to the path of threadkeep";
      throw new IllegalStateException("the program \"" + program + "\" cannot be started" + how, error);
    }
  }

  private static int freePort() throws IOException {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private void await() {
    Instant end = Instant.now().plus(PATIENCE);
    try (var client = ThreadkeepClient.builder().address(address).token("").timeout(Duration.ofSeconds(5)).build()) {
      while (true) {
        try {
          client.info();
          return;
        } catch (ThreadkeepException error) {
          if (!process.isAlive() || Instant.now().isAfter(end)) {
            String said = printed();
            close();
            throw new IllegalStateException("the server does not answer; it printed: " + said, error);
          }
        }
      }
    }
  }

  private String printed() {
    try {
      return Files.readString(output, StandardCharsets.UTF_8);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
