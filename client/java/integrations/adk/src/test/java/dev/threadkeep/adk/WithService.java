package dev.threadkeep.adk;

import static dev.threadkeep.adk.Talk.unique;

import dev.threadkeep.ThreadkeepClient;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The tests of a class have a service on the shared server, and each an app of its own. */
abstract class WithService {
  static ThreadkeepClient client;
  static ThreadkeepSessionService service;
  final String app = unique();

  @BeforeAll
  static void open() {
    client = Talk.client();
    service = new ThreadkeepSessionService(client);
  }

  @AfterAll
  static void close() {
    client.close();
  }
}
