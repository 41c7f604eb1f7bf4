// The active window of a session as items of @openai/agents: an event has one item, or several if another framework wrote it.

import { isReason, type EventInit, type SessionEvent, type SessionHandle } from "@threadkeep/client";

import { itemsOf, type Item } from "../formats/openaiAgents.js";
import { callNames } from "../formats/parts.js";

const LONGEST_PAGE = 1000;

/** An event of the window, with its items: none if this framework cannot show it. */
export interface Entry {
  readonly event: SessionEvent;
  readonly items: readonly Item[];
}

/** The newest entries of the window, oldest first, and the versions at the time of the read. */
export interface Window {
  readonly entries: readonly Entry[];
  readonly items: readonly Item[];
  readonly logVersion: bigint;
  readonly lastSeq: bigint;
}

/** Reads the newest events that have so many items; by default all. The cost does not depend on the older ones. */
export async function readWindow(session: SessionHandle, wanted = Infinity): Promise<Window> {
  const newestFirst: SessionEvent[] = [];
  const pageSize = Math.min(Math.max(wanted, 1), LONGEST_PAGE);
  let [pageToken, logVersion, lastSeq] = ["", 0n, 0n];
  do {
    const page = await session.eventsPage({ filter: { view: "active" }, order: "desc", pageSize, pageToken });
    if (pageToken === "") [logVersion, lastSeq] = [page.logVersion, page.lastSeq];
    newestFirst.push(...page.events);
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && count(newestFirst) < wanted);
  return { ...shown(newestFirst.reverse(), wanted), logVersion, lastSeq };
}

const count = (events: readonly SessionEvent[]) => events.reduce((sum, event) => sum + itemsOf(event).length, 0);

/** Returns the entries of events, without the oldest that are not needed for so many items. */
function shown(events: SessionEvent[], wanted: number): Pick<Window, "entries" | "items"> {
  const names = callNames(events);
  const entries: Entry[] = [];
  let found = 0;
  for (const event of events.reverse()) {
    if (found >= wanted) break;
    const items = itemsOf(event, names);
    found += items.length;
    entries.unshift({ event, items });
  }
  return { entries, items: entries.flatMap(({ items }) => items) };
}

/**
 * Replaces the newest entries of the window by events, unless they have changed since they were read. Returns false if they have.
 * Events that this framework cannot show are no items: they stay, before the new ones.
 */
export async function replaceEntries(
  session: SessionHandle,
  entries: readonly Entry[],
  events: readonly EventInit[],
  operationId?: string,
): Promise<boolean> {
  const hidden = entries.filter(({ items }) => items.length === 0).map(({ event }) => event);
  try {
    await session.replaceSuffix(entries.map(({ event }) => event.eventId), [...hidden, ...events], { operationId });
    return true;
  } catch (error) {
    if (isReason(error, "VERSION_MISMATCH")) return false;
    throw error;
  }
}
