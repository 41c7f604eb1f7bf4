// A tree as a picture: one row for each node, with lines from each to its children, drawn with SVG.

import { Link } from "@tanstack/react-router";
import type { CSSProperties } from "react";

export interface TreeNode {
  id: string;
  label: string;
  /** Said after the label, in small print. */
  note: string;
  /** Where the node leads; undefined if it is nothing to open. */
  search: { app: string; user: string; id: string; seq?: string } | undefined;
  isCurrent: boolean;
  children: TreeNode[];
}

interface Placed {
  node: TreeNode;
  depth: number;
  row: number;
  parent: Placed | undefined;
}

/** Pixels of a row, of a level, and of a dot. */
const ROW = 34;
const LEVEL = 26;
const DOT = 5;

function placed(root: TreeNode): Placed[] {
  const all: Placed[] = [];
  const place = (node: TreeNode, depth: number, parent: Placed | undefined) => {
    const here = { node, depth, row: all.length, parent };
    all.push(here);
    for (const child of node.children) place(child, depth + 1, here);
  };
  place(root, 0, undefined);
  return all;
}

const x = ({ depth }: Placed) => 12 + depth * LEVEL;
const y = ({ row }: Placed) => ROW / 2 + row * ROW;

/** Returns the line from a node down to one of its children, with a round corner. */
function line(child: Placed, parent: Placed): string {
  const corner = 10;
  return `M${x(parent)} ${y(parent) + DOT}V${y(child) - corner}q0 ${corner} ${corner} ${corner}H${x(child) - DOT}`;
}

/** The lines are a picture; the names next to them are a list, so that a reader without the picture has them too. */
export function TreePicture({ root, label }: { root: TreeNode; label: string }) {
  const nodes = placed(root);
  const width = 24 + Math.max(...nodes.map(({ depth }) => depth)) * LEVEL;
  const height = nodes.length * ROW;
  return (
    <div className="tree">
      <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} aria-hidden="true">
        {nodes.map((each) => each.parent && <path key={each.row} d={line(each, each.parent)} />)}
        {nodes.map((each) => <circle key={each.row} cx={x(each)} cy={y(each)} r={DOT} className={each.node.isCurrent ? "current" : undefined} />)}
      </svg>
      <ol aria-label={label} style={{ "--row": `${ROW}px` } as CSSProperties}>
        {nodes.map(({ node, depth, row }) => (
          <li key={row} style={{ paddingLeft: 24 + depth * LEVEL }} aria-current={node.isCurrent || undefined}>
            {node.search && !node.isCurrent ? <Link to="/session" search={node.search} className="id">{node.label}</Link> : <span className="id">{node.label}</span>}
            <span className="quiet small">{node.note}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}
