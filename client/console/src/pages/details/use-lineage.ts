// The family of a session: its first ancestor that still exists, and all forks from there.

import { useQuery } from "@tanstack/react-query";
import { isReason, type Client } from "@threadkeep/client";
import { SessionService, type Session, type SessionRef } from "@threadkeep/client/v1";

import { useClient } from "../../api/connection";
import type { TreeNode } from "../../components/tree-picture";
import { text } from "../../text";

/** Sessions that are drawn, and generations that are followed to the first ancestor. */
const MOST = 80;
const OLDEST = 20;

const words = text.lineage;

/** An ancestor that is only a name: it is gone, or its name is that of another session now, such as an imported copy. */
interface Name {
  ref: SessionRef;
  isThere: boolean;
}

/** Returns the ancestors, the first one first, and the one before them of which only the name is known. */
async function ancestors(client: Client, session: Session, signal: AbortSignal): Promise<{ found: Session[]; name: Name | undefined }> {
  const found: Session[] = [session];
  while (found.length < OLDEST) {
    const { ref, parent } = found[0]!;
    if (!parent?.session || !ref) return { found, name: undefined };
    const above = { app: ref.app, userId: parent.session.userId || ref.userId, sessionId: parent.session.sessionId };
    const name = (isThere: boolean) => ({ found, name: { ref: { ...parent.session!, ...above }, isThere } });
    try {
      const answer = await client.raw(SessionService).getSession({ session: above }, { signal });
      if (!answer.session || answer.session.uid !== parent.uid) return name(answer.session !== undefined);
      found.unshift(answer.session);
    } catch (error) {
      if (isReason(error, "SESSION_NOT_FOUND") || isReason(error, "PERMISSION_DENIED")) return name(false);
      throw error;
    }
  }
  return { found, name: undefined };
}

async function family(client: Client, session: Session, signal: AbortSignal): Promise<{ root: TreeNode; isCut: boolean }> {
  const { found, name } = await ancestors(client, session, signal);
  const first = found[0]!;
  const nodeOf = ({ ref, uid, parent, lastSeq }: Session): TreeNode => ({
    id: uid,
    label: ref!.sessionId,
    note: parent ? words.forkedAt(parent.atSeq, lastSeq) : words.events(lastSeq),
    search: { app: ref!.app, user: ref!.userId, id: ref!.sessionId },
    isCurrent: uid === session.uid,
    children: [],
  });
  const top = nodeOf(first);
  const drawn = new Set([first.uid]); // with names that were used again, forks may be each other's
  let count = 1;
  let isCut = false;
  let level: [TreeNode, Session][] = [[top, first]];
  while (level.length > 0) {
    const below: [TreeNode, Session][] = [];
    for (const [node, { ref, uid }] of level) {
      if (count >= MOST) {
        isCut = true;
        continue;
      }
      const { app, userId, sessionId } = ref!;
      const answer = await client.raw(SessionService).listSessions({ app, userId, forkedFrom: sessionId, pageSize: MOST }, { signal });
      const others = answer.sessions.filter((fork) => !drawn.has(fork.uid));
      const forks = others.slice(0, MOST - count);
      isCut ||= answer.nextPageToken !== "" || forks.length < others.length;
      count += forks.length;
      for (const fork of forks) {
        drawn.add(fork.uid);
        const child = nodeOf(fork);
        if (fork.parent?.uid !== uid) child.note = `${child.note}; ${words.other}`;
        node.children.push(child);
        below.push([child, fork]);
      }
    }
    level = below;
  }
  if (!name) return { root: top, isCut };
  const { ref: { app, userId, sessionId }, isThere } = name;
  const search = isThere ? { app, user: userId, id: sessionId } : undefined;
  return { root: { id: "name", label: sessionId, note: isThere ? words.other : words.gone, search, isCurrent: false, children: [top] }, isCut };
}

export function useLineage(session: Session) {
  const client = useClient();
  return useQuery({ queryKey: ["lineage", session.uid], queryFn: ({ signal }) => family(client, session, signal), staleTime: 0 });
}
