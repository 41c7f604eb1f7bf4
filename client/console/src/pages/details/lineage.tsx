// Pictures of where a session comes from and what was forked from it, and of its branches.

import { useQuery } from "@connectrpc/connect-query";
import { EventService, type Branch, type Session, type SessionRef } from "@threadkeep/client/v1";

import { Failure } from "../../components/states";
import { TreePicture, type TreeNode } from "../../components/tree-picture";
import { text } from "../../text";
import { Section } from "./section";
import { useLineage } from "./use-lineage";

const words = text.lineage;

export function Lineage({ session }: { session: Session }) {
  const { data, error } = useLineage(session);
  return (
    <Section title={words.title}>
      {error && <Failure error={error} />}
      {data && (data.root.isCurrent && data.root.children.length === 0 ? <p className="quiet">{words.none}</p> : <TreePicture root={data.root} label={words.title} />)}
      {data?.isCut && <p className="quiet small">{words.cut}</p>}
    </Section>
  );
}

export function Branches({ session }: { session: SessionRef }) {
  const { data, error } = useQuery(EventService.method.listBranches, { session }, { staleTime: 0 });
  return (
    <Section title={words.branches}>
      {error && <Failure error={error} />}
      {data && <TreePicture root={treeOf(session, data.branches)} label={words.branches} />}
      {data?.nextPageToken && <p className="quiet small">{words.cutBranches}</p>}
    </Section>
  );
}

/** Returns the branches as a tree by the segments of their paths. A segment without events of its own is drawn, but leads nowhere. */
function treeOf(session: SessionRef, branches: readonly Branch[]): TreeNode {
  const known = new Map(branches.map((branch) => [branch.name, branch]));
  const nodes = new Map<string, TreeNode>();
  const nodeOf = (name: string): TreeNode => {
    const made = nodes.get(name);
    if (made) return made;
    const branch = known.get(name);
    const seq = branch?.firstSeq;
    const node: TreeNode = {
      id: name,
      label: name.split(".").at(-1) || words.root,
      note: branch ? words.branch(branch.eventCount, branch.firstSeq, branch.lastSeq) : "",
      search: seq === undefined ? undefined : { app: session.app, user: session.userId, id: session.sessionId, seq: String(seq) },
      isCurrent: false,
      children: [],
    };
    nodes.set(name, node);
    if (name !== "") nodeOf(name.includes(".") ? name.slice(0, name.lastIndexOf(".")) : "").children.push(node);
    return node;
  };
  for (const { name } of branches) nodeOf(name);
  return nodeOf("");
}
