// Lists a session and watches it live. The form specifies the session, or the address of the page:
// ?address=http://127.0.0.1:7480&app=shop&user=alice&session=s1

import { CheckpointKind, connect, Role, ThreadkeepError, type Change, type Client, type Part, type SessionEvent } from "@threadkeep/client";

const form = document.querySelector<HTMLFormElement>("#choice")!;
const list = document.querySelector<HTMLOListElement>("#events")!;
const state = document.querySelector<HTMLParagraphElement>("#state")!;
const shown = new Set<string>();
/** Milliseconds. A live server sends a heartbeat every 15 seconds. */
const QUIET = 20_000;
let current: Client | undefined;
let alarm: ReturnType<typeof setTimeout>;

function say(kind: "idle" | "live" | "away" | "failed", text: string): void {
  state.dataset["state"] = kind;
  state.textContent = text;
  clearTimeout(alarm);
  if (kind === "live") alarm = setTimeout(() => say("away", "Nothing heard for 20 seconds: the server may be away."), QUIET);
}

function element(name: string, className: string, text = ""): HTMLElement {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text; // never innerHTML: the text is untrusted
  return made;
}

function partOf({ content }: Part): HTMLElement {
  if (content.case === "text") return element("div", "text", content.value);
  if (content.case === "toolCall") return element("code", "call", `${content.value.name}(${content.value.argumentsJson})`);
  if (content.case === "toolResult") {
    const result = element("div", "result", content.value.structuredJson);
    result.append(...content.value.parts.map(partOf));
    return result;
  }
  return element("i", "other", content.case ?? "of a newer version");
}

/** Adds an event unless it is already shown; the list and the watch overlap. */
function show(event: SessionEvent): void {
  if (shown.has(event.eventId)) return;
  shown.add(event.eventId);
  const role = Role[event.message?.role ?? Role.UNSPECIFIED]?.toLowerCase() ?? "unknown";
  const item = element("li", event.archived ? "archived" : "");
  item.dataset["role"] = role;
  item.dataset["seq"] = String(event.seq);
  const head = element("div", "head");
  const time = element("time", "", event.recordTime ? new Date(Number(event.recordTime.seconds) * 1000).toLocaleTimeString() : "");
  head.append(element("span", "seq", `#${event.seq}`), element("span", "role", event.author || role), time);
  const body = element("div", "body");
  body.append(...(event.message?.parts.map(partOf) ?? []));
  item.append(head, body);
  list.append(item);
}

function apply({ kind }: Change): void {
  if (kind.case === "batch") kind.value.events.forEach(show);
  else if (kind.case === "compaction") kind.value.inserted.forEach(show);
  const isLeaving = kind.case === "checkpoint" && kind.value.kind === CheckpointKind.DRAINING;
  if (isLeaving) say("away", "The server is shutting down; waiting for it to come back.");
  else say("live", `Live: ${shown.size} events.`);
}

/** Subscribes before listing, so that no event is missed in between. */
async function follow(client: Client, id: string): Promise<void> {
  const session = client.session(id);
  let isListed = false;
  for await (const change of session.watch({ checkpoints: true })) {
    if (client !== current) return;
    if (!isListed) {
      for await (const event of session.events()) show(event);
      isListed = true;
    }
    apply(change);
  }
}

async function start(): Promise<void> {
  const given = Object.fromEntries(new FormData(form).entries()) as Record<string, string>;
  current?.close();
  shown.clear();
  list.replaceChildren();
  say("idle", "Connecting.");
  const client = connect({ address: given["address"], app: given["app"], userId: given["user"], token: given["token"] });
  current = client;
  try {
    await follow(client, given["session"]!);
  } catch (error) {
    if (client === current) say("failed", error instanceof ThreadkeepError ? error.message : String(error));
  }
}

const requested = new URLSearchParams(location.search);
const defaults: Record<string, string> = { address: "http://127.0.0.1:7480" };
for (const input of form.querySelectorAll("input")) input.value = requested.get(input.name) ?? defaults[input.name] ?? "";
form.addEventListener("submit", (event) => {
  event.preventDefault();
  void start();
});
if (requested.has("session")) void start();
