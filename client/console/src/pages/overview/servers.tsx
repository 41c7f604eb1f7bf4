// The servers that share the database.

import type { FleetServer } from "@threadkeep/client/v1";

import { Ago } from "../../components/time";
import { text } from "../../text";

const words = text.overview.fleet;

/** Each server with its state. Nothing for a credential that may not know them. */
export function Servers({ servers }: { servers: readonly FleetServer[] }) {
  if (servers.length === 0) return null;
  return (
    <section className="section" aria-labelledby="servers">
      <h2 id="servers">{words.title}</h2>
      <table className="plain-table">
        <thead>
          <tr>{words.columns.map((name) => <th key={name} scope="col">{name}</th>)}</tr>
        </thead>
        <tbody>
          {servers.map(({ id, version, startTime, seenTime, metricsAddress, answering, gone }) => (
            <tr key={id}>
              <th scope="row"><code>{id.slice(0, 8)}</code>{answering && <span className="quiet"> {words.answering}</span>}</th>
              <td><span className="chip" data-outcome={gone ? "failed" : "done"}>{gone ? words.gone : words.serves}</span></td>
              <td>{version}</td>
              <td><Ago time={startTime} /></td>
              <td><Ago time={seenTime} /></td>
              <td className="quiet">{metricsAddress || "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
