// Parses error details. google.rpc has no published JavaScript stubs, and only a few fields are needed.

import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import type { ConnectError } from "@connectrpc/connect";

/** The domain of the server's reasons. Reasons of other domains, such as a proxy's, are ignored. */
const DOMAIN = "threadkeep.dev";

/** An invalid field of a request. */
export interface FieldViolation {
  /** Path in the request, for example `events[3].message`. */
  field: string;
  /** Description of the problem. */
  description: string;
}

/**
 * Returns the details as in ThreadkeepError. The reason is empty if it is not Threadkeep's. Malformed details are skipped, so
 * that they do not hide the error.
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
      if (type === "google.rpc.ErrorInfo" && text(message, 2) === DOMAIN) {
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

/** Values of a message by field number: numbers, and bytes for all other types. */
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
