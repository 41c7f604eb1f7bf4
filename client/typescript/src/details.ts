// Reading the details of an error. google.rpc has no published JavaScript stubs, and the few fields wanted of its messages are
// quicker read than generated.

import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import type { ConnectError } from "@connectrpc/connect";

/** A field of a request that is not valid. */
export interface FieldViolation {
  /** Its path in the request, for example `events[3].message`. */
  field: string;
  /** Why. */
  description: string;
}

/**
 * What the details say, as in ThreadkeepError; the reason is empty if there was none of Threadkeep's. What is malformed is left out,
 * since it must not hide the error.
 */
export function readDetails(details: ConnectError["details"]) {
  let reason = "";
  let metadata: Record<string, string> = {};
  let violations: FieldViolation[] = [];
  let retryAfterMs: number | undefined;
  for (const detail of details) {
    if (!("type" in detail)) continue;
    const { type, value } = detail;
    try {
      const message = fieldsOf(value);
      if (type === "google.rpc.ErrorInfo" && text(message, 2) === "threadkeep.dev") {
        reason = text(message, 1);
        metadata = Object.fromEntries(inside(message, 3).map((entry) => [text(entry, 1), text(entry, 2)]));
      } else if (type === "google.rpc.BadRequest") {
        violations = inside(message, 1).map((each) => ({ field: text(each, 1), description: text(each, 2) }));
      } else if (type === "google.rpc.RetryInfo") {
        const [delay] = inside(message, 1);
        retryAfterMs = Number(delay?.[1]?.[0] ?? 0) * 1000 + Number(delay?.[2]?.[0] ?? 0) / 1e6;
      }
    } catch {
      continue;
    }
  }
  return { reason, metadata, violations, retryAfterMs };
}

/** The values of a message by field number: numbers, and the bytes of everything else. */
type Fields = Record<number, (bigint | Uint8Array)[]>;

function fieldsOf(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes);
  const fields: Fields = {};
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (wireType === WireType.Varint) (fields[number] ??= []).push(BigInt(reader.int64()));
    else if (wireType === WireType.LengthDelimited) (fields[number] ??= []).push(reader.bytes());
    else reader.skip(wireType, number);
  }
  return fields;
}

const bytesIn = (fields: Fields, number: number) => (fields[number] ?? []).filter((value) => typeof value !== "bigint");
const text = (fields: Fields, number: number) => new TextDecoder().decode(bytesIn(fields, number)[0]);
const inside = (fields: Fields, number: number) => bytesIn(fields, number).map(fieldsOf);
