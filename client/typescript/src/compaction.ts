// Compacting with a model of the caller's own: plan, summarise, apply.

import { clone } from "@bufbuild/protobuf";

import { CompactionPlanSchema, type CompactionInsert, type CompactionPlan } from "./gen/recollect/v1/compaction_pb.js";
import type { SessionEvent } from "./gen/recollect/v1/event_pb.js";
import { Role } from "./gen/recollect/v1/message_pb.js";

/** A plan's inserts, with the model's text in the event that the plan leaves empty for it; the plan itself is not changed. */
export function completed(plan: CompactionPlan, summary: string): CompactionInsert[] {
  const { inserts } = clone(CompactionPlanSchema, plan);
  for (const event of inserts.flatMap((insert) => insert.events).filter(isPending)) {
    event.message!.parts[0]!.content = { case: "text", value: { $typeName: "recollect.v1.TextPart", text: summary } };
  }
  return inserts;
}

function isPending({ message }: SessionEvent): boolean {
  const [first, ...others] = message?.parts ?? [];
  if (message?.role !== Role.ASSISTANT || first === undefined || others.length > 0) return false;
  return first.content.case === "text" && first.content.value.text === "";
}
