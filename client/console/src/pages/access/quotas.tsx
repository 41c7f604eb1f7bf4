import type { QuotaStatus } from "@threadkeep/client/v1";

import { text } from "../../text";

/** Part of a limit from which the bar warns. */
const HIGH = 0.8;

/** Each limit with what is used of it. */
export function Quotas({ quotas }: { quotas: readonly QuotaStatus[] }) {
  return (
    <ul className="plain-list quotas">
      {quotas.map(({ name, limit, used }) => (
        <li key={name} data-level={used !== undefined && used >= limit * HIGH ? "warn" : undefined}>
          <span>{text.access.quota(name)}</span>
          {used === undefined ? (
            <span className="quiet" title={text.access.unknown}>{text.access.most(limit)}</span>
          ) : (
            <>
              <span className="number">{text.access.used(used, limit)}</span>
              <meter min={0} max={limit} value={Math.min(used, limit)} aria-label={text.access.quota(name)} />
            </>
          )}
        </li>
      ))}
    </ul>
  );
}
