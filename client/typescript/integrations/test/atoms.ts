// The golden conversation's atoms: see tests/integrations/golden.py.

import type { Client } from "@threadkeep/client";

/** A piece of a conversation in a form that no framework prescribes. */
export type Atom =
  | { role: string; kind: "text" | "reasoning"; text: string }
  | { role: string; kind: "media"; mime: string; data: string }
  | { role: string; kind: "call"; id: string; name: string; arguments: unknown }
  | { role: string; kind: "result"; id: string; value: unknown; error?: boolean };

/** How an adapter writes and reads the conversation, with the framework's own objects. */
export interface Golden {
  write(client: Client, sessionId: string): Promise<void>;
  read(client: Client, sessionId: string): Promise<Atom[]>;
}

/** One pixel, in base64. */
export const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
