import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { ConsumerService, type Consumer, type ConsumerPartition } from "@threadkeep/client/v1";

import { whole } from "../../components/numbers";
import { Command, Empty, Failure, Loading } from "../../components/states";
import { text } from "../../text";
import { ConsumerView } from "./consumer-view";

/** Milliseconds between two reads of the progress. */
export const PERIOD = 3_000;

export const lagOf = (partitions: readonly ConsumerPartition[] = []) => partitions.reduce((sum, { lag }) => sum + lag, 0n);

/** All consumers, and the one of the address in full. */
export function Consumers({ chosen }: { chosen: string | undefined }) {
  const { data, error, refetch } = useQuery(ConsumerService.method.listConsumers, { pageSize: 1000 }, { refetchInterval: PERIOD });
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  if (data.consumers.length === 0) {
    return (
      <Empty title={text.consumers.emptyTitle}>
        <p>{text.consumers.emptyHint}</p>
        <Command>{text.consumers.emptyCommand}</Command>
      </Empty>
    );
  }
  return (
    <div className="consumers">
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">{text.consumers.name}</th>
            <th scope="col">{text.consumers.scope}</th>
            <th scope="col" className="number">{text.consumers.lag}</th>
            <th scope="col" className="number">{text.consumers.members}</th>
            <th scope="col" className="number">{text.consumers.parked}</th>
          </tr>
        </thead>
        <tbody>
          {data.consumers.map((consumer) => <Row key={consumer.name} consumer={consumer} isChosen={consumer.name === chosen} />)}
        </tbody>
      </table>
      {chosen !== undefined && <ConsumerView key={chosen} name={chosen} />}
    </div>
  );
}

function Row({ consumer: { name, scope }, isChosen }: { consumer: Consumer; isChosen: boolean }) {
  const { data } = useQuery(ConsumerService.method.getConsumer, { name }, { refetchInterval: PERIOD });
  const whose = [scope?.app ?? text.consumers.anyApp, scope?.userId || text.consumers.anyUser].join(" / ");
  return (
    <tr aria-current={isChosen || undefined}>
      <td>
        <Link to="/changes" search={{ show: "consumers", consumer: name }} className="id">{name}</Link>
      </td>
      <td className="quiet">{whose}</td>
      <td className="number">{data ? whole(lagOf(data.partitions)) : "…"}</td>
      <td className="number">{data ? whole(data.members.length) : "…"}</td>
      <td className={data && data.parkedChanges > 0n ? "number bad" : "number"}>{data ? whole(data.parkedChanges) : "…"}</td>
    </tr>
  );
}
