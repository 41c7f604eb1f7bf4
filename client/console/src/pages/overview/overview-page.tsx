import { useQuery } from "@connectrpc/connect-query";
import { isReason } from "@threadkeep/client";
import { ServerService, type GetServerInfoResponse } from "@threadkeep/client/v1";

import { useMetrics, type Metrics } from "../../api/metrics";
import { bytes, whole } from "../../components/numbers";
import { Failure, Loading } from "../../components/states";
import { duration } from "../../components/time";
import { text } from "../../text";
import { Charts, SAMPLING } from "./charts";
import { findingsOf } from "./findings";
import { Servers } from "./servers";

/** Milliseconds between two reads. */
const PERIOD = 5_000;
/** Seconds. */
const DAY = 86_400;

/** What the server is, how much it has, how far behind it is, and what is wrong. */
export function OverviewPage() {
  const full = useQuery(ServerService.method.getServerInfo, { includeTotals: true }, { refetchInterval: PERIOD });
  // Totals are for some roles only. Everything else is for all.
  const isRefused = isReason(full.error, "PERMISSION_DENIED");
  const some = useQuery(ServerService.method.getServerInfo, {}, { enabled: isRefused, refetchInterval: PERIOD });
  const metrics = useMetrics(SAMPLING);
  const { data, error, refetch } = isRefused ? some : full;
  return (
    <div className="page scrolling" tabIndex={0} role="group" aria-label={text.overview.title}>
      <title>{`${text.overview.title} · ${text.shell.name}`}</title>
      <header className="head">
        <h1>{text.overview.title}</h1>
        {data && <span className="quiet">{text.overview.version(data.version)}</span>}
      </header>
      {error && <Failure error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && (
        <>
          <Numbers info={data} hasTotals={!isRefused} />
          <Charts metrics={metrics.data} error={metrics.error} />
          <Findings info={data} metrics={metrics.error ? undefined : metrics.data} />
          <Servers servers={data.servers} />
          <Facts info={data} />
        </>
      )}
    </div>
  );
}

function Numbers({ info, hasTotals }: { info: GetServerInfoResponse; hasTotals: boolean }) {
  const { searchIndex, embeddings } = info;
  const words = text.overview.numbers;
  const shown = [
    { name: words.sessions, value: hasTotals ? whole(info.totalSessions) : "–", hint: hasTotals ? words.tenant : words.noTotals },
    { name: words.events, value: hasTotals ? whole(info.totalEvents) : "–", hint: hasTotals ? words.tenant : words.noTotals },
    { name: words.index, value: searchIndex?.enabled ? whole(searchIndex.lagBatches) : "–", hint: searchIndex?.enabled ? words.indexHint : words.noIndex },
    { name: words.embeddings, value: embeddings?.enabled ? whole(embeddings.waiting) : "–", hint: embeddings?.enabled ? words.embeddingsHint : words.noEmbedder },
  ];
  return (
    <dl className="numbers">
      {shown.map(({ name, value, hint }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="value">{value}</dd>
          <dd className="quiet small">{hint}</dd>
        </div>
      ))}
    </dl>
  );
}

function Findings({ info, metrics }: { info: GetServerInfoResponse; metrics: Metrics | undefined }) {
  const findings = findingsOf(info, metrics);
  return (
    <section className="section" aria-labelledby="findings">
      <h2 id="findings">{text.overview.findingsTitle}</h2>
      {!findings.some(({ level }) => level !== "hint") && <p className="receipt">{text.overview.fine}</p>}
      <ul className="plain-list findings">
        {findings.map(({ level, words, advice }) => (
          <li key={words} data-level={level}>
            <b>{words}</b> <span className="quiet">{advice}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Facts({ info }: { info: GetServerInfoResponse }) {
  const { limits } = info;
  const words = text.overview.facts;
  const ttl = Number(limits?.defaultSessionTtlSeconds ?? 0n);
  const facts: Readonly<Record<string, string>> = {
    [words.engine]: info.engine,
    [words.durability]: info.durability,
    [words.schema]: String(info.schemaVersion),
    [words.store]: info.storeId,
    [words.counter]: info.tokenCounter,
    [words.embedder]: info.embedderModel || words.none,
    [words.summarizer]: info.summarizerModel || words.none,
    [words.event]: bytes(limits?.maxEventBytes ?? 0n),
    [words.batch]: words.batchOf(limits?.maxBatchEvents ?? 0, bytes(limits?.maxBatchBytes ?? 0n)),
    [words.ttl]: ttl === 0 ? words.noTtl : ttl < DAY ? duration(ttl * 1000) : words.days(Math.round(ttl / DAY)),
    [words.capabilities]: info.capabilities.join(", "),
  };
  return (
    <section aria-labelledby="facts">
      <h2 id="facts" className="hidden">{text.overview.server}</h2>
      <dl className="facts-list">
        {Object.entries(facts).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
