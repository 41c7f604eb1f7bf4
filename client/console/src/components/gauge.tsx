import { whole } from "./numbers";
import { text } from "../text";

interface Props {
  context: number;
  window: number;
  /** Tokens at which the policy compacts; undefined without such a trigger. */
  trigger: number | undefined;
}

const percent = (part: number, all: number) => `${Math.min(100, (part / Math.max(1, all)) * 100)}%`;

/** Tokens of the context within those of the window, against the trigger of the policy. */
export function Gauge({ context, window, trigger }: Props) {
  const all = Math.max(context, window, trigger ?? 0, 1);
  const words = text.context.gauge(whole(context), whole(window), trigger === undefined ? undefined : whole(trigger));
  return (
    <figure className="gauge">
      <div className="bar" role="img" aria-label={words}>
        <span className="window" style={{ width: percent(window, all) }} />
        <span className="used" style={{ width: percent(context, all) }} />
        {trigger !== undefined && <span className="trigger" style={{ left: percent(trigger, all) }} />}
      </div>
      <figcaption className="quiet small">{words}</figcaption>
    </figure>
  );
}
