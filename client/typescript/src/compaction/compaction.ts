// Compactions of a session, on the server and with the caller's model.

import { clone, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, type CallOptions } from "@connectrpc/connect";

import {
  CompactionPlanSchema,
  type CompactionInsertSchema,
  type CompactionPlan,
  type CompactionStrategy,
  type CompactionTrigger,
  type SummaryPrompt,
} from "../gen/threadkeep/v1/compaction_pb.js";
import * as pb from "../gen/threadkeep/v1/compaction_service_pb.js";
import type { GetContextResponse } from "../gen/threadkeep/v1/event_service_pb.js";
import { Role } from "../gen/threadkeep/v1/message_pb.js";
import type { SessionRef } from "../gen/threadkeep/v1/session_pb.js";
import { assistant, newEventId, user, type EventInit } from "../messages.js";
import type { Caller, Int } from "../requests.js";
import { isReason, ThreadkeepError } from "../rpc/errors.js";

/** Options of `planCompaction`. */
export interface PlanOptions {
  /** Strategy. Default: that of the session's policy. */
  strategy?: CompactionStrategy | undefined;
  /** Branch whose own events are compacted. Default: the whole session. */
  branch?: string | undefined;
}

/** Options of `compact`. */
export interface CompactOptions extends PlanOptions {
  /** Compacts only if it fires. */
  trigger?: CompactionTrigger | undefined;
  /** Changes nothing, calls no model, and returns the plan. */
  dryRun?: boolean | undefined;
  /** Name of the caller, for the record. */
  actor?: string | undefined;
}

/** Options of `compactWith`. */
export interface CompactWithOptions extends PlanOptions {
  /** Name of the caller, for the record. */
  actor?: string | undefined;
}

/** Options of an applied compaction. */
export interface ApplyOptions {
  /** Id of the compaction, the idempotency key. Default: a new one. */
  compactionId?: string | undefined;
  /** Log version that was read: appends then conflict too. */
  expectedLogVersion?: Int | undefined;
  /** Branch of the compaction. */
  branch?: string | undefined;
  /** Strategy, for the record. */
  strategy?: string | undefined;
  /** Name of the caller, for the record. */
  actor?: string | undefined;
  /** Returns `applied` false after a mismatch, instead of VERSION_MISMATCH. */
  reportMismatch?: boolean | undefined;
  /** Checks the request and changes nothing. */
  dryRun?: boolean | undefined;
}

/** What to archive and insert: a plan of `planCompaction` with the summary that it requires, or events of one's own. */
export type Compacting =
  | { plan: pb.PlanCompactionResponse; summary?: string | undefined }
  | {
      /** Window version that was read. */
      windowVersion: Int;
      /** Ids of the events to archive, or the first and last seq. Default: none. */
      archive?: { ids: readonly string[] } | { fromSeq?: Int; throughSeq: Int } | undefined;
      /** Events to insert, and the id of the event that they precede. */
      inserts?: MessageInitShape<typeof CompactionInsertSchema>[] | undefined;
    };

/** Options of `replaceEvents`. */
export interface ReplaceOptions {
  /** Log version that was read last. */
  expect: { logVersion: Int };
  /** Strategy, for the record. */
  strategy?: string | undefined;
  /** Name of the caller, for the record. */
  actor?: string | undefined;
  /** Checks the request and changes nothing. */
  dryRun?: boolean | undefined;
}

/** Writes the summary of a prompt. `signal` is aborted when the compaction is. */
export type Summarize = (prompt: SummaryPrompt, call: { signal: AbortSignal | undefined }) => string | Promise<string>;

/** The user message before a summary, the same as in the server's summaries. */
const SHADOW_PROMPT = "Summarize the conversation we had so far.";

/** Maximum number of plans of `compactWith` when other compactions are committed first. */
const PLANS = 5;

const service = (caller: Caller) => caller.raw(pb.CompactionService);

/** See `SessionHandle.applyCompaction`. */
export async function apply(
  caller: Caller,
  session: SessionRef,
  given: Compacting,
  options: ApplyOptions,
  call?: CallOptions,
): Promise<pb.ApplyCompactionResponse> {
  const { compactionId = newEventId(), expectedLogVersion: version, ...rest } = options;
  const expectedLogVersion = version === undefined ? undefined : BigInt(version);
  const common = { ...rest, session, compactionId, expectedLogVersion };
  if ("plan" in given) {
    const { plan, windowVersion: expectedWindowVersion } = given.plan;
    if (plan?.summaryPrompt) requireSummary(given.summary);
    const inserts = plan?.summaryPrompt ? completed(plan, given.summary!) : plan?.inserts;
    const { archiveEventIds: ids = [], branch, strategy } = plan ?? {};
    const archive = ids.length > 0 ? ({ case: "eventIds", value: { ids } } as const) : undefined;
    return service(caller).applyCompaction({ ...common, expectedWindowVersion, archive, inserts, branch, strategy }, call);
  }
  const { archive, inserts } = given;
  const bySeq = archive && "throughSeq" in archive ? archive : undefined;
  const request = {
    ...{ ...common, expectedWindowVersion: BigInt(given.windowVersion), inserts, fromSeq: BigInt(bySeq?.fromSeq ?? 0) },
    archive: bySeq
      ? ({ case: "throughSeq", value: BigInt(bySeq.throughSeq) } as const)
      : archive && ({ case: "eventIds", value: { ids: "ids" in archive ? [...archive.ids] : [] } } as const),
  };
  return service(caller).applyCompaction(request, call);
}

/** See `SessionHandle.compactContext`. */
export async function replaceContext(
  caller: Caller,
  session: SessionRef,
  seen: GetContextResponse,
  summary: string | readonly EventInit[],
  options: ApplyOptions,
  call?: CallOptions,
): Promise<pb.ApplyCompactionResponse> {
  const { compactableThroughSeq: throughSeq, firstSeq: fromSeq, windowVersion } = seen;
  if (throughSeq === 0n) {
    const message = "no event of this context may be archived: it is empty, or its spec left out the first events";
    throw new ThreadkeepError(message, Code.FailedPrecondition, { reason: "NOTHING_TO_COMPACT" });
  }
  if (typeof summary === "string") requireSummary(summary);
  const given = typeof summary === "string" ? [user(SHADOW_PROMPT), assistant(summary)] : summary;
  const events = given.map((event) => ({ ...event, synthetic: true, compactionSource: event.compactionSource || "summary" }));
  const inserts = events.length > 0 ? [{ events }] : [];
  return apply(caller, session, { windowVersion, archive: { fromSeq, throughSeq }, inserts }, options, call);
}

/** See `SessionHandle.compactWith`. */
export async function compactWith(
  caller: Caller,
  session: SessionRef,
  summarize: Summarize,
  { strategy, branch, actor }: CompactWithOptions,
  call: CallOptions = {},
): Promise<pb.ApplyCompactionResponse | undefined> {
  const answers = new Map<string, string>();
  for (let planned = 1; ; planned++) {
    const response = await service(caller).planCompaction({ session, strategy, branch }, call);
    const { plan } = response;
    if (!plan || (plan.archiveEventIds.length === 0 && plan.inserts.length === 0)) return undefined;
    let summary: string | undefined;
    if (plan.summaryPrompt) {
      const { digest } = plan.summaryPrompt;
      summary = answers.get(digest) ?? (await summarize(plan.summaryPrompt, { signal: call.signal }));
      requireSummary(summary);
      answers.set(digest, summary);
    }
    try {
      return await apply(caller, session, { plan: response, summary }, { actor }, call);
    } catch (error) {
      if (!isReason(error, "VERSION_MISMATCH") || planned === PLANS) throw error;
    }
  }
}

/** Throws TypeError for a blank summary. */
function requireSummary(summary: string | undefined): asserts summary is string {
  if (!summary?.trim()) throw new TypeError("the summary is blank; the session is unchanged");
}

/** Returns the inserts with the model's text in the event that the plan leaves empty. */
function completed(plan: CompactionPlan, summary: string): CompactionPlan["inserts"] {
  const { inserts } = clone(CompactionPlanSchema, plan);
  for (const { message } of inserts.flatMap((insert) => insert.events)) {
    const content = message?.parts.length === 1 ? message.parts[0]!.content : undefined;
    if (message?.role === Role.ASSISTANT && content?.case === "text" && !content.value) content.value = summary;
  }
  return inserts;
}
