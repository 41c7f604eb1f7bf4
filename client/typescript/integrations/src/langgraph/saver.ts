import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver, copyCheckpoint, getCheckpointId, maxChannelVersion, TASKS, WRITES_IDX_MAP, type ChannelVersions, type Checkpoint,
  type CheckpointListOptions, type CheckpointMetadata, type CheckpointPendingWrite, type CheckpointTuple, type PendingWrite,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import type { Client, SessionProperties } from "@threadkeep/client";

import { Conversation, isOwn, messagesOf } from "./messages.js";
import type { Stored, Write } from "./records.js";
import { Threads } from "./threads.js";

/** Options of a ThreadkeepSaver. */
export interface ThreadkeepSaverOptions {
  /**
   * The channel whose new messages are also stored as events of the conversation, in the same commit, for agents of other
   * frameworks; null stores none. Default: "messages".
   */
  messages?: string | null | undefined;
  /** Properties of the session of a new thread: labels, metadata, expiry, state. */
  properties?: SessionProperties | undefined;
  /** As in LangGraph. */
  serde?: SerializerProtocol | undefined;
}

/** Version of the format of checkpoints since which pending sends are in a channel. */
const SENDS_IN_CHANNEL = 4;

/**
 * A checkpointer: `graph.compile({ checkpointer: new ThreadkeepSaver(client) })`. A thread is the session with its id, of the client's
 * app and user, and a checkpoint an event of it.
 *
 * What a method stores is on durable storage when it resolves, and stored once if it is called again. Methods throw ThreadkeepError
 * if a call fails.
 */
export class ThreadkeepSaver extends BaseCheckpointSaver {
  readonly #threads: Threads;
  readonly #conversation: Conversation;

  constructor(client: Client, { messages = "messages", properties, serde }: ThreadkeepSaverOptions = {}) {
    super(serde);
    this.#threads = new Threads(client, properties);
    this.#conversation = new Conversation(messages);
  }

  /** Returns the checkpoint of the config, by default the one that was stored last; undefined if there is none. */
  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const threadId = config.configurable?.["thread_id"] as string | undefined;
    if (threadId === undefined) return undefined;
    const namespace = namespaceOf(config) ?? "";
    const checkpointId = getCheckpointId(config);
    const record = checkpointId
      ? await this.#threads.checkpoint(threadId, namespace, checkpointId)
      : await this.#threads.latest(threadId, namespace);
    if (record === undefined) return undefined;
    const found = await this.#tupleOf(record);
    this.#conversation.stored(threadId, namespace, found.checkpoint);
    return found;
  }

  /**
   * Iterates over checkpoints, in each thread the last stored first: of the config's thread, by default of all of the client's user;
   * of its namespace, by default all. `before`: only checkpoints with lower ids. `filter`: values of the metadata that must be equal.
   */
  async *list(config: RunnableConfig, { before, limit, filter }: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const threadId = config.configurable?.["thread_id"] as string | undefined;
    const checkpointId = getCheckpointId(config);
    const until = before === undefined ? "" : getCheckpointId(before);
    let left = limit ?? Infinity;
    if (left <= 0) return;
    for (const each of threadId === undefined ? await this.#threads.ofUser() : [threadId]) {
      for await (const record of this.#threads.checkpoints(each, namespaceOf(config))) {
        if ((checkpointId && record.checkpointId !== checkpointId) || (until && record.checkpointId >= until)) continue;
        const metadata = (await this.serde.loadsTyped(...record.metadata)) as Record<string, unknown>;
        if (!Object.entries(filter ?? {}).every(([key, value]) => metadata[key] === value)) continue;
        yield await this.#tupleOf(record);
        left -= 1;
        if (left <= 0) return;
      }
    }
  }

  /**
   * Stores a checkpoint whose parent is that of the config, and the new messages in it; returns its config. Without a parent nothing
   * was stored before, so it has the channels of `newVersions` only.
   */
  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const threadId = required(config, "thread_id");
    const namespace = namespaceOf(config) ?? "";
    const parentId = getCheckpointId(config) || null;
    const kept = copyCheckpoint(checkpoint);
    if (parentId === null) kept.channel_values = Object.fromEntries(Object.entries(kept.channel_values).filter(([name]) => name in newVersions));
    const runId = String((metadata as { run_id?: unknown }).run_id ?? config.configurable?.["run_id"] ?? "");
    const record = {
      namespace, checkpointId: checkpoint.id, parentId, runId,
      checkpoint: await this.serde.dumpsTyped(kept),
      metadata: await this.serde.dumpsTyped(metadata),
    };
    const about = { source: metadata.source, step: metadata.step, parent: parentId };
    await this.#threads.put(threadId, record, about, this.#conversation.changed(threadId, kept, record));
    this.#conversation.stored(threadId, namespace, kept);
    return configOf(threadId, namespace, checkpoint.id);
  }

  /** Stores the writes of a task of a checkpoint. The first write with an index stays; special ones are replaced. */
  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, taskPath = ""): Promise<void> {
    const threadId = required(config, "thread_id");
    const checkpointId = required(config, "checkpoint_id");
    const namespace = namespaceOf(config) ?? "";
    const made = writes.map(async ([channel, value], place): Promise<Write> => {
      const index = WRITES_IDX_MAP[channel] ?? place;
      return { namespace, checkpointId, taskId, taskPath, index, channel, value: await this.serde.dumpsTyped(value) };
    });
    await this.#threads.putWrites(threadId, checkpointId, await Promise.all(made));
  }

  /** Deletes a thread: its session, with the messages of all who wrote in it. An unknown one is ignored. */
  async deleteThread(threadId: string): Promise<void> {
    this.#conversation.forget(threadId);
    await this.#threads.delete(threadId);
  }

  /**
   * Returns the messages of the thread that other writers added and the graph's state does not have, oldest first. Pass them with the
   * input of the next run: `{ messages: [...others, new HumanMessage("Hi")] }`. They are of the active window, without instructions
   * to models and summaries, and are not stored again.
   */
  async messagesOfOthers(config: RunnableConfig): Promise<BaseMessage[]> {
    const threadId = required(config, "thread_id");
    const latest = await this.#threads.latest(threadId, "");
    const known = latest === undefined ? new Set() : this.#conversation.ids((await this.#tupleOf(latest)).checkpoint);
    const events = (await this.#threads.conversation(threadId)).filter((event) => !isOwn(event));
    return events.flatMap(messagesOf).filter(({ id }) => !known.has(id));
  }

  async #tupleOf(record: Stored): Promise<CheckpointTuple> {
    const { threadId, namespace, checkpointId, parentId, writes } = record;
    const checkpoint = (await this.serde.loadsTyped(...record.checkpoint)) as Checkpoint;
    if (checkpoint.v < SENDS_IN_CHANNEL && parentId !== null) await this.#addSends(checkpoint, record, parentId);
    return {
      config: configOf(threadId, namespace, checkpointId),
      checkpoint,
      metadata: (await this.serde.loadsTyped(...record.metadata)) as CheckpointMetadata,
      ...(parentId === null ? {} : { parentConfig: configOf(threadId, namespace, parentId) }),
      pendingWrites: await this.#pending(writes),
    };
  }

  /** Adds the pending sends of a checkpoint of an old format, which are writes of its parent. */
  async #addSends(checkpoint: Checkpoint, { threadId, namespace }: Stored, parentId: string): Promise<void> {
    const parent = await this.#threads.checkpoint(threadId, namespace, parentId);
    const sends = await this.#pending((parent?.writes ?? []).filter(({ channel }) => channel === TASKS));
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = sends.map(([, , value]) => value);
    checkpoint.channel_versions[TASKS] = versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }

  async #pending(writes: readonly Write[]): Promise<CheckpointPendingWrite[]> {
    const loaded = writes.map(async ({ taskId, channel, value }): Promise<CheckpointPendingWrite> => {
      return [taskId, channel, await this.serde.loadsTyped(...value)];
    });
    return Promise.all(loaded);
  }
}

const namespaceOf = (config: RunnableConfig) => config.configurable?.["checkpoint_ns"] as string | undefined;

const configOf = (threadId: string, namespace: string, checkpointId: string): RunnableConfig => ({
  configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: checkpointId },
});

function required(config: RunnableConfig, key: "thread_id" | "checkpoint_id"): string {
  const value = config.configurable?.[key] as string | undefined;
  if (!value) throw new TypeError(`the config has no configurable.${key}: pass { configurable: { thread_id: "..." } } to the graph`);
  return value;
}
