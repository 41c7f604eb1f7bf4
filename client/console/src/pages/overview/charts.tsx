// How busy the server is and how fast it answers, since the page was opened.

import { useEffect, useRef, useState } from "react";

import { NoMetrics, type Metrics } from "../../api/metrics";
import { Sparkline } from "../../components/sparkline";
import { text } from "../../text";
import { GROUPS, quantile, sampleOf, type Group, type Sample } from "./rates";

const words = text.overview.charts;

/** Most samples of a chart, places of one that has fewer, and the samples whose durations are put together. */
const MOST = 100;
const PLACES = 20;
const RECENT = 20;
/** Milliseconds between two samples. */
export const SAMPLING = 3_000;

/** Returns the samples, the newest last, and the number of servers that answered. Behind a balancer each answer may be another server's. */
function useSamples(metrics: Metrics | undefined): { samples: readonly Sample[]; servers: number } {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  const latest = useRef(new Map<number, Metrics>());
  useEffect(() => {
    if (!metrics) return;
    const before = latest.current.get(metrics.started);
    latest.current.set(metrics.started, metrics);
    const sample = before && before.read !== metrics.read ? sampleOf(before, metrics) : undefined;
    if (sample) setSamples((known) => [...known, sample].slice(-MOST));
  }, [metrics]);
  return { samples, servers: latest.current.size };
}

export function Charts({ metrics, error }: { metrics: Metrics | undefined; error: Error | null }) {
  const { samples, servers } = useSamples(metrics);
  return (
    <section className="section charts" aria-labelledby="charts">
      <h2 id="charts">{words.title}</h2>
      {error && <p className="quiet">{words.none[error instanceof NoMetrics ? error.kind : "failed"]}</p>}
      {!error && samples.length === 0 && <p className="quiet" role="status">{words.measuring}</p>}
      {samples.length > 0 && (
        <ul className="plain-list">
          {GROUPS.map((group) => <Chart key={group} group={group} samples={samples} />)}
        </ul>
      )}
      {servers > 1 && <p className="quiet small">{words.servers(servers)}</p>}
    </section>
  );
}

function Chart({ group, samples }: { group: Group; samples: readonly Sample[] }) {
  const rates = samples.map((sample) => sample[group].perSecond);
  const slow = samples.map((sample) => quantile([sample[group]], 0.95));
  const recent = samples.slice(-RECENT).map((sample) => sample[group]);
  const places = Math.max(PLACES, samples.length);
  const now = rates.at(-1) ?? 0;
  const [half, most] = [quantile(recent, 0.5), quantile(recent, 0.95)];
  return (
    <li>
      <h3>{words.groups[group]}</h3>
      <p className="value">{words.rate(now)}</p>
      <Sparkline values={rates} places={places} label={words.rateLabel(words.groups[group], now, Math.max(...rates))} />
      <p className="quiet small">{half === undefined || most === undefined ? words.idle : words.durations(half, most)}</p>
      <Sparkline values={slow} places={places} label={words.slowLabel(words.groups[group], most)} />
    </li>
  );
}
