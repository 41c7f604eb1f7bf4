import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useMutation } from "@tanstack/react-query";
import { EventService, SortOrder, type SessionRef } from "@threadkeep/client/v1";
import { useState, type FormEvent } from "react";

import { useClient } from "../../api/connection";
import { Icon } from "../../components/icons";
import { text } from "../../text";

interface Props {
  session: SessionRef;
  lastSeq: number;
  seq: string | undefined;
  jump: (seq: number) => void;
}

/** Hits that are read at most. */
const MOST = 100;

/** Leads to an event by its seq, its time or its words. */
export function JumpBar({ session, lastSeq, seq, jump }: Props) {
  const client = useClient();
  const [hit, setHit] = useState(0);
  const listed = async (filter: object, pageSize: number) => {
    const { events } = await client.raw(EventService).listEvents({ session, filter, pageSize, order: SortOrder.ASCENDING });
    return events.map((event) => Number(event.seq));
  };
  const find = useMutation({
    mutationFn: (keyword: string) => listed({ keyword }, MOST),
    onSuccess: (seqs) => {
      setHit(0);
      if (seqs[0]) jump(seqs[0]);
    },
  });
  const findTime = useMutation({
    mutationFn: (date: Date) => listed({ fromTime: timestampFromDate(date) }, 1),
    onSuccess: ([first]) => jump(first ?? lastSeq),
  });
  const submit = (run: (value: string) => void) => (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    run(String(new FormData(event.currentTarget).get("wanted") ?? "").trim());
  };
  const hits = find.data;
  const step = () => {
    if (!hits?.length) return;
    const next = (hit + 1) % hits.length;
    setHit(next);
    jump(hits[next]!);
  };
  return (
    <div className="jumps">
      <form onSubmit={submit((wanted) => Number(wanted) >= 1 && jump(Number(wanted)))}>
        <label className="inline">
          {text.session.jump}
          <input key={seq} name="wanted" type="number" min={1} max={lastSeq} inputMode="numeric" defaultValue={seq} />
        </label>
      </form>
      <form className="wide-only" onSubmit={submit((wanted) => wanted && findTime.mutate(new Date(wanted)))}>
        <label className="inline">
          {text.session.time}
          <input name="wanted" type="datetime-local" step={1} />
        </label>
      </form>
      <form role="search" onSubmit={submit((wanted) => (wanted ? find.mutate(wanted) : find.reset()))}>
        <label className="inline">
          {text.session.find}
          <input name="wanted" type="search" placeholder={text.session.findHint} spellCheck={false} />
        </label>
      </form>
      {(find.error ?? findTime.error) && <span className="chip" data-outcome="failed" role="alert">{(find.error ?? findTime.error)?.message}</span>}
      {hits && (
        <span className="quiet small" role="status">
          {text.session.hits(hit + 1, hits.length)}{" "}
          {hits.length > 1 && (
            <button type="button" className="plain tiny" aria-label={text.session.next} title={text.session.next} onClick={step}>
              <Icon name="down" />
            </button>
          )}
        </span>
      )}
    </div>
  );
}
