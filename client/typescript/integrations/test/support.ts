// A client with an app of its own for each test, and a server that a test may kill.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, rmSync } from "node:fs";
import { createConnection, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { connect, newEventId, type Client } from "@threadkeep/client";

const ADDRESS = process.env["THREADKEEP_TEST_ADDRESS"]!;
const PROGRAM = process.env["THREADKEEP_TEST_PROGRAM"]!;
const READY_WITHIN_MS = 150_000;
/** On a loaded machine a server takes half a minute to start. */
const PATIENT = { maxAttempts: 1_000, longestPauseMs: 500 };
const opened: Client[] = [];

after(() => opened.forEach((client) => client.close()));

/** Returns a client of the shared server, with an app of its own. */
export function freshClient(address = ADDRESS, app = `test-${newEventId()}`): Client {
  const client = connect({ address, app, userId: "ada", retry: PATIENT, timeoutMs: 180_000 });
  opened.push(client);
  return client;
}

/** A server on a file of its own, to be killed and started again on the same port. */
export class KillableServer {
  #process: ChildProcess | undefined;

  private constructor(readonly address: string, private readonly folder: string) {}

  /** Starts a server that ends with the test. */
  static async start(test: TestContext): Promise<KillableServer> {
    const probe = createServer().listen(0, "127.0.0.1");
    await once(probe, "listening");
    const { port } = probe.address() as AddressInfo;
    probe.close();
    const server = new KillableServer(`127.0.0.1:${port}`, mkdtempSync(join(tmpdir(), "threadkeep-")));
    test.after(async () => {
      await server.kill();
      rmSync(server.folder, { recursive: true, force: true });
    });
    await server.start();
    return server;
  }

  /** Starts it again, and resolves when it serves. */
  async start(): Promise<void> {
    const log = openSync(join(this.folder, "log"), "a");
    const options = ["serve", "--grpc-address", this.address, "--http-address", "", "--data-dir", this.folder];
    this.#process = spawn(PROGRAM, options, { stdio: ["ignore", log, log] });
    const client = connect({ address: this.address, retry: false, timeoutMs: 5_000 });
    for (const deadline = Date.now() + READY_WITHIN_MS; ; await pause(50)) {
      try {
        await client.info();
        return client.close();
      } catch (error) {
        if (Date.now() > deadline) throw error;
      }
    }
  }

  async #listens(): Promise<boolean> {
    const socket = createConnection(Number(this.address.split(":")[1]), "127.0.0.1");
    try {
      await once(socket, "connect");
      return true;
    } catch {
      return false;
    } finally {
      socket.destroy();
    }
  }

  /** Ends it as kill -9 does. */
  async kill(): Promise<void> {
    const ended = this.#process;
    this.#process = undefined;
    if (ended === undefined || ended.exitCode !== null) return;
    ended.kill("SIGKILL");
    await once(ended, "exit");
    // What stands in for the program in the short form ends a moment before it.
    while (await this.#listens()) await pause(5);
  }
}
