// Checkpoints and writes as events, in the layout of `threadkeep.integrations.langgraph` of the Python SDK.
//
// A checkpoint is one event, and so is each write of a task. They are on branches of their own, one for each checkpoint namespace,
// and have no parts: readers of the conversation find nothing in them. The native content is a line of JSON and, behind it, the
// bytes that the saver's serializer wrote. Those are of this language: its formats are not those of Python.

import { createHash } from "node:crypto";

import { compareWritesSortKeys, writesSortKey } from "@langchain/langgraph-checkpoint";
import { Role, type EventInit, type SessionEvent } from "@threadkeep/client";

export const CHECKPOINT = "langgraph.checkpoint.js/1";
export const WRITE = "langgraph.write.js/1";
/** The author of these events; readers of the conversation can leave it out. */
export const AUTHOR = "langgraph.checkpoints";
/** The branch of the checkpoints of the root graph. Those of subgraphs are on branches below it. */
const ROOT = "langgraph";
const LINE_FEED = 10;

/** A value as a serializer writes it: the name of its encoding, and its bytes. */
export type Typed = readonly [encoding: string, bytes: Uint8Array];

/** A write of a task. */
export interface Write {
  readonly namespace: string;
  readonly checkpointId: string;
  readonly taskId: string;
  readonly taskPath: string;
  /** Its place among the task's writes; negative for special ones, which are replaced. */
  readonly index: number;
  readonly channel: string;
  readonly value: Typed;
}

/** A checkpoint. */
export interface Checkpointed {
  readonly namespace: string;
  readonly checkpointId: string;
  readonly parentId: string | null;
  readonly runId: string;
  readonly checkpoint: Typed;
  readonly metadata: Typed;
  /** All events of its writes have a greater seq. */
  readonly floor: number;
}

/** A checkpoint that was read, with its writes in the order in which they apply. */
export interface Stored extends Checkpointed {
  readonly threadId: string;
  readonly writes: readonly Write[];
}

/** Returns the branch of a checkpoint namespace such as "child:1|grandchild:2". Namespaces have branches of their own. */
export const branchOf = (namespace: string): string => (namespace ? [ROOT, ...namespace.split("|").map(segment)].join(".") : ROOT);

/** Returns a segment of a branch: without dots, percent signs and control characters, and not empty. */
const segment = (part: string): string =>
  part.replace(/[.%\p{C}\p{Z}]/gu, (char) => (char === " " ? char : `%${char.codePointAt(0)!.toString(16)}%`)) || "%";

/** Returns the id of a checkpoint's event. A session has it once, so a repeated put stores nothing twice. */
export const checkpointEventId = (namespace: string, checkpointId: string): string => eventId("checkpoint", namespace, checkpointId);

/** Returns the id of a write's event. */
export const writeEventId = ({ namespace, checkpointId, taskId, index }: Write): string =>
  eventId("write", namespace, checkpointId, taskId, `${index}`);

/** Returns an id within the limits of the server, which names may exceed. No two lists of names have the same. */
function eventId(...names: string[]): string {
  const plain = [ROOT, ...names].join(":");
  if (plain.length <= 200 && plain.split(":").length === names.length + 1 && /^[\x20-\x7e]*$/.test(plain)) return plain;
  return `${ROOT}:${names[0]}:${createHash("sha256").update(JSON.stringify(names)).digest("hex")}`;
}

/** Returns the event of a checkpoint. `about`: metadata for people and filters. */
export function eventOfCheckpoint(record: Checkpointed, about: object): EventInit {
  const { namespace, checkpointId, parentId, runId, floor } = record;
  const header = { id: checkpointId, ns: namespace, parent: parentId, floor, run: runId };
  return {
    ...eventOf(checkpointEventId(namespace, checkpointId), namespace, CHECKPOINT, header, [record.checkpoint, record.metadata]),
    invocationId: runId,
    metadataJson: JSON.stringify({ checkpoint_id: checkpointId, ...about }),
  };
}

/** Returns the event of a write. */
export function eventOfWrite(write: Write): EventInit {
  const { namespace, checkpointId, taskId, taskPath, index, channel } = write;
  const header = { checkpoint: checkpointId, ns: namespace, task: taskId, path: taskPath, index, channel };
  return {
    ...eventOf(writeEventId(write), namespace, WRITE, header, [write.value]),
    metadataJson: JSON.stringify({ checkpoint_id: checkpointId, channel }),
  };
}

function eventOf(id: string, namespace: string, format: string, header: object, values: readonly Typed[]): EventInit {
  const line = JSON.stringify({ ...header, values: values.map(([encoding, bytes]) => [encoding, bytes.length]) });
  const content = new Uint8Array(Buffer.concat([Buffer.from(`${line}\n`), ...values.map(([, bytes]) => bytes)]));
  return { eventId: id, author: AUTHOR, branch: branchOf(namespace), message: { role: Role.ASSISTANT }, native: { format, content } };
}

/** Returns the checkpoint of an event; undefined if it is none, or erased. */
export function checkpointOf(event: SessionEvent): Checkpointed | undefined {
  if (event.native?.format !== CHECKPOINT) return undefined;
  const { header, values } = parsed(event.native.content);
  const [checkpoint, metadata] = values as [Typed, Typed];
  const { ns: namespace, id: checkpointId, parent: parentId, run: runId, floor } = header;
  return { namespace, checkpointId, parentId, runId, floor, checkpoint, metadata };
}

/** Returns the write of an event; undefined if it is none, or erased. */
export function writeOf(event: SessionEvent): Write | undefined {
  if (event.native?.format !== WRITE) return undefined;
  const { header, values } = parsed(event.native.content);
  const { ns: namespace, checkpoint: checkpointId, task: taskId, path: taskPath, index, channel } = header;
  return { namespace, checkpointId, taskId, taskPath, index, channel, value: values[0]! };
}

function parsed(content: Uint8Array): { header: Record<string, any>; values: Typed[] } {
  const end = content.indexOf(LINE_FEED);
  const header = JSON.parse(new TextDecoder().decode(content.subarray(0, end))) as Record<string, any>;
  let start = end + 1;
  const values = (header["values"] as [string, number][]).map(([encoding, size]): Typed => {
    start += size;
    return [encoding, content.slice(start - size, start)];
  });
  return { header, values };
}

/** Returns a checkpoint with the thread and the writes that were read, in the order in which they apply. */
export function readFrom(record: Checkpointed, threadId: string, writes: readonly Write[]): Stored {
  const order = ({ taskPath, taskId, index }: Write) => writesSortKey(taskPath, taskId, index);
  return { ...record, threadId, writes: [...writes].sort((left, right) => compareWritesSortKeys(order(left), order(right))) };
}
