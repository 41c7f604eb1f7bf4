import { getRouteApi } from "@tanstack/react-router";
import { isReason } from "@threadkeep/client";

import { useOwner } from "../../api/use-owner";
import { Tabs, TextField, withValue } from "../../components/field";
import { Command, Empty, Failure, Loading } from "../../components/states";
import { text } from "../../text";
import { HitCard } from "./hit-card";
import { keyOf, MODE_NAMES, MODES, placesOf, useHits, type Column, type ModeName, type Places, type Query } from "./use-hits";

const route = getRouteApi("/search");

const VIEWS = { all: text.search.sideBySide, ...text.search.modes } as const;

/** One query in every mode, side by side. */
export function SearchPage() {
  const given = route.useSearch();
  const navigate = route.useNavigate();
  const isOpen = given.app === undefined && !given.user && !given.id;
  const { owner, error } = useOwner(isOpen);
  const query: Query = isOpen && owner ? { ...given, app: owner.app } : given;
  const set = (name: keyof Query) => (value: string) => void navigate({ search: withValue(query, name, value), replace: true });
  const { q = "", app = "", user = "", id = "", show = "all" } = query;
  const isOn = q.trim() !== "" && (!isOpen || owner !== undefined || error !== null);
  const columns = useHits(query, isOn);
  const shown = MODE_NAMES.filter((name) => show === "all" || show === name);
  const places = placesOf(columns);
  return (
    <div className="page">
      <title>{`${text.search.title} · ${text.shell.name}`}</title>
      <header className="head">
        <h1>{text.search.title}</h1>
        <span className="quiet">{text.search.hint}</span>
      </header>
      <form className="filters search-filters" role="search" aria-label={text.search.title} onSubmit={(event) => event.preventDefault()}>
        <TextField label={text.search.query} value={q} hint={text.search.queryHint} apply={set("q")} isLarge />
        <TextField label={text.sessions.app} value={app} apply={set("app")} />
        <TextField label={text.sessions.user} value={user} hint={text.search.any} apply={set("user")} />
        <TextField label={text.sessions.columns.session} value={id} hint={text.search.any} apply={set("id")} />
      </form>
      {isOn ? (
        <>
          <Tabs legend={text.search.show} names={VIEWS} chosen={show in VIEWS ? (show as keyof typeof VIEWS) : "all"} apply={(name) => set("show")(name === "all" ? "" : name)} />
          <div className="columns" data-count={shown.length}>
            {shown.map((name) => <ColumnView key={name} mode={name} column={columns[name]} places={places} />)}
          </div>
        </>
      ) : (
        <Empty title={text.search.emptyTitle}>
          <p>{text.search.emptyHint}</p>
          <ul className="plain-list">
            {MODE_NAMES.map((name) => (
              <li key={name}>
                <b>{text.search.modes[name]}</b> <span className="quiet">{text.search.meanings[name]}</span>
              </li>
            ))}
          </ul>
          <p className="quiet">{text.search.emptyCommand}</p>
          <Command>{`threadkeep search --app '${app || "shop"}' 'delayed flight'`}</Command>
        </Empty>
      )}
    </div>
  );
}

function ColumnView({ mode, column, places }: { mode: ModeName; column: Column; places: Places }) {
  const { data, error, isFetching } = column;
  const name = text.search.modes[mode];
  return (
    <section className="column" aria-label={name} aria-busy={isFetching}>
      <header>
        <h2>{name}</h2>
        <span className="quiet small">{data && !error ? text.search.count(data.hits.length, data.nextPageToken !== "") : ""}</span>
        <p className="quiet small">{text.search.meanings[mode]}</p>
      </header>
      <div className="hits" tabIndex={0} role="group" aria-label={name}>
        {error && <ColumnError error={error} retry={column.refetch} />}
        {!error && !data && <Loading />}
        {!error && data && <Notes data={data} mode={mode} />}
        {!error && data && (
          <ol>
            {data.hits.map((hit, at) => <HitCard key={keyOf(hit)} hit={hit} place={at + 1} mode={mode} places={places.get(keyOf(hit))} />)}
          </ol>
        )}
        {!error && data?.hits.length === 0 && <p className="quiet none">{text.search.none}</p>}
      </div>
    </section>
  );
}

/** A mode that the server cannot search is no failure of the page. */
function ColumnError({ error, retry }: { error: Error; retry: () => unknown }) {
  if (!isReason(error, "EMBEDDER_NOT_CONFIGURED")) return <Failure error={error} retry={() => void retry()} />;
  return (
    <div className="none">
      <p>{text.search.noEmbedder}</p>
      <p className="quiet small">{text.search.noEmbedderHint}</p>
      <Command>{text.search.embedderCommand}</Command>
    </div>
  );
}

/** What the server says about the hits as a whole. */
function Notes({ data, mode }: { data: NonNullable<Column["data"]>; mode: ModeName }) {
  const isFallback = mode === "hybrid" && data.mode !== MODES.hybrid;
  const notes = [
    isFallback && text.search.fallback,
    data.rerankFailed && text.search.rerankFailed,
    data.semanticLag > 0n && text.search.lag(data.semanticLag),
    data.incomplete && text.search.incomplete(data.unsearchedEvents),
    data.truncated && text.search.truncated,
  ].filter((note) => note !== false);
  return notes.map((note) => <p key={note} className="warning small">{note}</p>);
}
