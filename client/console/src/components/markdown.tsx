// Markdown as React elements. The parser only makes tokens: HTML in a message stays text, links lead to the web only, and images are
// not loaded, so that a message can neither run anything nor report who reads it.

import { marked, type Token, type Tokens } from "marked";
import { Fragment, memo, useMemo, type ReactNode } from "react";

/** Blocks within blocks, and marks within marks, that are still rendered; deeper ones are shown as written. */
const DEEPEST = 12;
/** Characters of a text, and of one of its paragraphs, that are parsed: the time grows with the square of a hostile paragraph. */
const LONGEST = 64_000;
const LONGEST_PARAGRAPH = 4_100;
/** Addresses that a click may open. */
const SAFE = /^(https?:|mailto:)/i;

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => lexed(text), [text]);
  return tokens ? <div className="markdown">{blocks(tokens)}</div> : <pre className="text">{text}</pre>;
});

function lexed(text: string): Token[] | undefined {
  if (text.length > LONGEST || text.split(/\n\s*\n/).some(({ length }) => length > LONGEST_PARAGRAPH)) return undefined;
  try {
    return marked.lexer(text, { gfm: true, breaks: true });
  } catch { // nested too deeply
    return undefined;
  }
}

const blocks = (tokens: readonly Token[], depth = 0): ReactNode => tokens.map((token, at) => <Fragment key={at}>{block(token, depth)}</Fragment>);

function block(token: Token, depth: number): ReactNode {
  if (depth > DEEPEST) return <p className="raw">{token.raw}</p>;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return <p className="heading" role="heading" aria-level={Math.min(6, token.depth + 2)}>{inlines(token.tokens)}</p>;
    case "paragraph":
      return <p>{inlines(token.tokens)}</p>;
    case "code":
      return <pre tabIndex={0}><code>{token.text}</code></pre>;
    case "blockquote":
      return <blockquote>{blocks(token.tokens ?? [], depth + 1)}</blockquote>;
    case "hr":
      return <hr />;
    case "list":
      return <List list={token as Tokens.List} depth={depth + 1} />;
    case "table":
      return <Table table={token as Tokens.Table} />;
    case "text":
      return "tokens" in token && token.tokens ? inlines(token.tokens) : token.text;
    default:
      return <p className="raw">{token.raw}</p>;
  }
}

function List({ list, depth }: { list: Tokens.List; depth: number }) {
  const items = list.items.map((item, at) => (
    <li key={at}>
      {item.task && <span aria-hidden="true">{item.checked ? "☑ " : "☐ "}</span>}
      {blocks(item.tokens.filter(({ type }) => type !== "checkbox"), depth)}
    </li>
  ));
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table }: { table: Tokens.Table }) {
  return (
    <div className="wide" tabIndex={0}>
      <table>
        <thead>
          <tr>{table.header.map((cell, at) => <th key={at}>{inlines(cell.tokens)}</th>)}</tr>
        </thead>
        <tbody>
          {table.rows.map((row, at) => (
            <tr key={at}>{row.map((cell, place) => <td key={place}>{inlines(cell.tokens)}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const inlines = (tokens: readonly Token[] | undefined, depth = 0): ReactNode =>
  tokens?.map((token, at) => <Fragment key={at}>{inline(token, depth)}</Fragment>);

function inline(token: Token, depth: number): ReactNode {
  if (depth > DEEPEST) return token.raw;
  switch (token.type) {
    case "strong":
      return <strong>{inlines(token.tokens, depth + 1)}</strong>;
    case "em":
      return <em>{inlines(token.tokens, depth + 1)}</em>;
    case "del":
      return <del>{inlines(token.tokens, depth + 1)}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "br":
      return <br />;
    case "link":
      return SAFE.test(token.href) ? (
        <a href={token.href} target="_blank" rel="noopener noreferrer nofollow">{inlines(token.tokens, depth + 1)}</a>
      ) : (
        token.raw
      );
    case "text":
      return "tokens" in token && token.tokens ? inlines(token.tokens, depth + 1) : unescaped(token);
    case "escape":
      return token.text;
    default: // HTML, images and what later versions add
      return token.raw;
  }
}

/** Returns a text as it was written: the parser may have escaped it for HTML. */
const unescaped = (token: Token): string => ("escaped" in token && token.escaped ? token.raw : "text" in token ? String(token.text) : token.raw);
