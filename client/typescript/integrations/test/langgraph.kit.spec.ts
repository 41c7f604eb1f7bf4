// The kit by which makers of LangGraph validate checkpointers, whole. `langgraph.test` runs this with vitest, which the kit needs.

import { deltaChannelHistoryTests, specTest } from "@langchain/langgraph-checkpoint-validation";
import { connect, newEventId, type Client } from "@threadkeep/client";

import { ThreadkeepSaver } from "../src/langgraph.js";

const clients = new Map<ThreadkeepSaver, Client>();
const initializer = {
  checkpointerName: "ThreadkeepSaver",
  createCheckpointer(): ThreadkeepSaver {
    const client = connect({ address: process.env["THREADKEEP_TEST_ADDRESS"]!, app: `kit-${newEventId()}`, userId: "ada", timeoutMs: 60_000 });
    const saver = new ThreadkeepSaver(client);
    clients.set(saver, client);
    return saver;
  },
  destroyCheckpointer(saver: ThreadkeepSaver): void {
    clients.get(saver)?.close();
  },
};

specTest(initializer);
deltaChannelHistoryTests(initializer);
