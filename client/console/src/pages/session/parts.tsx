// One piece of content, by its kind. Everything is text to React: nothing of a message becomes markup.

import type { SessionEvent } from "@threadkeep/client";
import type { Part, ReasoningPart, ToolCallPart, ToolResultPart } from "@threadkeep/client/v1";

import { Icon } from "../../components/icons";
import { JsonText } from "../../components/json-tree";
import { LongText } from "../../components/long-text";
import { Markdown } from "../../components/markdown";
import { between, duration } from "../../components/time";
import { text } from "../../text";
import { MediaView } from "./media-view";
import type { ToolPairs } from "./tool-calls";

interface Context {
  event: SessionEvent;
  pairs: ToolPairs;
  goTo: (seq: number) => void;
}

export function PartView({ part: { content }, ...context }: Context & { part: Part }) {
  switch (content.case) {
    case "text":
      return <LongText text={content.value} render={(shown) => <Markdown text={shown} />} />;
    case "reasoning":
      return <Reasoning part={content.value} />;
    case "toolCall":
      return <Call part={content.value} {...context} />;
    case "toolResult":
      return <Result part={content.value} {...context} />;
    case "media":
      return <MediaView part={content.value} />;
    case "data":
      return (
        <details className="part">
          <summary>
            {text.event.data} <code>{content.value.type}</code>
          </summary>
          <JsonText json={content.value.json} />
        </details>
      );
    default:
      return <p className="quiet">{text.event.unknownPart}</p>;
  }
}

function Reasoning({ part }: { part: ReasoningPart }) {
  if (!part.text) return <p className="quiet small">{text.event.encrypted}</p>;
  return (
    <details className="part reasoning">
      <summary>
        <Icon name="thought" /> {text.event.reasoning}
      </summary>
      <LongText text={part.text} render={(shown) => <Markdown text={shown} />} />
    </details>
  );
}

function Call({ part, pairs, event, goTo }: Context & { part: ToolCallPart }) {
  const result = pairs.get(part.id)?.result;
  const took = between(event.eventTime ?? event.recordTime, result?.event.eventTime ?? result?.event.recordTime);
  return (
    <div className="tool-call">
      <p>
        <Icon name="tool" />
        <span className="quiet">{text.event.call}</span> <code className="tool-name">{part.name}</code>
        <Outcome result={result?.part} took={took} />
        {result && <SeqLink seq={Number(result.event.seq)} goTo={goTo} />}
      </p>
      <JsonText json={part.argumentsJson} />
    </div>
  );
}

function Outcome({ result, took }: { result: ToolResultPart | undefined; took: number | undefined }) {
  if (!result) return <span className="chip faint">{text.event.pending}</span>;
  const time = took === undefined || took < 0 ? "" : duration(took);
  return (
    <span className="chip" data-outcome={result.isError ? "failed" : "done"}>
      <Icon name={result.isError ? "cross" : "check"} />
      {result.isError ? text.event.failed : text.event.answered} {time}
    </span>
  );
}

function Result({ part, pairs, goTo, event }: Context & { part: ToolResultPart }) {
  const call = pairs.get(part.callId)?.call;
  const name = part.name || call?.part.name || part.callId;
  return (
    <div className="tool-result" data-outcome={part.isError ? "failed" : "done"}>
      <p>
        <Icon name={part.isError ? "cross" : "check"} />
        <span className="quiet">{text.event.result}</span> <code className="tool-name">{name}</code>
        {part.isError && <span className="chip" data-outcome="failed">{text.event.failed}</span>}
        {call && <SeqLink seq={Number(call.event.seq)} goTo={goTo} />}
      </p>
      {part.structuredJson && <JsonText json={part.structuredJson} />}
      {part.parts.map((inner, at) =>
        inner.content.case === "text" ? (
          <LongText key={at} text={inner.content.value} render={(shown) => <JsonText json={shown} />} />
        ) : (
          <PartView key={at} part={inner} pairs={pairs} goTo={goTo} event={event} />
        ),
      )}
    </div>
  );
}

function SeqLink({ seq, goTo }: { seq: number; goTo: (seq: number) => void }) {
  return (
    <button type="button" className="link" onClick={() => goTo(seq)}>
      {text.event.seq(BigInt(seq))}
    </button>
  );
}
