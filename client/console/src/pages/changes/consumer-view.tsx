// One consumer: its partitions, members and parked changes, which can be delivered again or discarded.

import { useMutation, useQuery } from "@connectrpc/connect-query";
import { ConsumerService } from "@threadkeep/client/v1";
import { useState } from "react";

import { AccessRole, useMay } from "../../api/caller";import { whole } from "../../components/numbers";
import { SureButton } from "../../components/sure-button";
import { Failure } from "../../components/states";
import { Ago, duration } from "../../components/time";
import { text } from "../../text";
import { ChangeRow } from "./change-row";
import { PERIOD } from "./consumers";

export function ConsumerView({ name }: { name: string }) {
  const { data, error } = useQuery(ConsumerService.method.getConsumer, { name }, { refetchInterval: PERIOD });
  if (error) return <Failure error={error} />;
  if (!data?.consumer) return null;
  const { consumer, members, partitions } = data;
  const troubled = partitions.filter(({ lastError, attempts }) => lastError !== "" && attempts > 0);
  const timeout = Number(consumer.ackTimeout?.seconds ?? 0n) * 1000;
  return (
    <section className="consumer" aria-labelledby="consumer-name">
      <h2 id="consumer-name" className="id">{name}</h2>
      <p className="quiet">{text.consumers.settings(consumer.partitions, consumer.maxAttempts, duration(timeout))} <Ago time={consumer.createTime} /></p>
      <h3>{text.consumers.partitions}</h3>
      <ol className="partitions">
        {partitions.map(({ partition, lag, memberId }) => (
          <li key={partition} data-state={lag === 0n ? "even" : memberId ? "behind" : "idle"} title={text.consumers.partition(partition, lag, memberId)}>
            <span className="hidden">{text.consumers.partition(partition, lag, memberId)}</span>
            <span aria-hidden="true">{lag === 0n ? "" : whole(lag)}</span>
          </li>
        ))}
      </ol>
      {troubled.map(({ partition, attempts, lastError }) => (
        <p key={partition} className="warning">{text.consumers.trouble(partition, attempts, lastError)}</p>
      ))}
      <h3>{text.consumers.members}</h3>
      {members.length === 0 && <p className="quiet">{text.consumers.noMembers}</p>}
      <ul className="plain-list">
        {members.map(({ memberId, partitions: held, joinTime }) => (
          <li key={memberId}>
            <span className="id">{memberId}</span> <span className="quiet">{text.consumers.holds(held.length)} <Ago time={joinTime} /></span>
          </li>
        ))}
      </ul>
      <Parked name={name} count={data.parkedChanges} />
    </section>
  );
}

function Parked({ name, count }: { name: string; count: bigint }) {
  const { data, refetch } = useQuery(ConsumerService.method.listParkedChanges, { name, pageSize: 100 }, { refetchInterval: PERIOD });
  const mayReplay = useMay(AccessRole.WRITER);
  const mayDiscard = useMay(AccessRole.ADMIN);
  const [receipt, setReceipt] = useState("");
  const replay = useMutation(ConsumerService.method.replayParkedChanges, { onSuccess: ({ replayed }) => finish(text.consumers.replayed(replayed)) });
  const discard = useMutation(ConsumerService.method.deleteParkedChanges, { onSuccess: ({ deleted }) => finish(text.consumers.discarded(deleted)) });
  const finish = (words: string) => {
    setReceipt(words);
    void refetch();
  };
  const isBusy = replay.isPending || discard.isPending;
  const error = replay.error ?? discard.error;
  return (
    <>
      <h3>{text.consumers.parkedTitle(count)}</h3>
      {receipt && <p role="status" className="receipt">{receipt}</p>}
      {error && <Failure error={error} />}
      {count === 0n && <p className="quiet">{text.consumers.noParked}</p>}
      <ul className="plain-list parked">
        {data?.parkedChanges.map(({ parkedId, change, attempts, reason, parkTime, replaying }) => (
          <li key={parkedId}>
            <ol className="plain-list">{change && <ChangeRow change={change} />}</ol>
            <p>
              <span className="chip" data-outcome="failed">{text.consumers.attempts(attempts)}</span> {reason} <span className="quiet small"><Ago time={parkTime} /></span>
            </p>
            <p className="buttons">
              {replaying && <span className="quiet small">{text.consumers.replaying}</span>}
              {mayReplay && <button type="button" disabled={isBusy || replaying} onClick={() => replay.mutate({ name, parkedIds: [parkedId] })}>{text.consumers.replay}</button>}
              {mayDiscard && <SureButton label={text.consumers.discard} sure={text.consumers.discardSure} isBusy={isBusy} confirm={() => discard.mutate({ name, parkedIds: [parkedId] })} />}
            </p>
          </li>
        ))}
      </ul>
    </>
  );
}
