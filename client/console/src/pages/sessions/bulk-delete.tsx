// The bar of a selection, the question before it is deleted, the progress, and the receipt.

import { useEffect, useRef, useState, type FormEvent } from "react";

import { CopyButton } from "../../components/copy-button";
import { Failure } from "../../components/states";
import { text } from "../../text";
import { receiptJson, type Listed, type Receipt, type useBulkDelete } from "./use-bulk-delete";
import type { SessionFilters } from "./use-sessions";

const words = text.bulk;

/** Sessions that the question names, and failures that the receipt lists. */
const NAMED = 5;
const LISTED = 20;

interface Props {
  bulk: ReturnType<typeof useBulkDelete>;
  selected: readonly Listed[];
  clear: () => void;
  /** The filters of the list; undefined without any: everything is not deleted by accident. */
  filters: SessionFilters | undefined;
}

export function BulkDelete({ bulk, selected, clear, filters }: Props) {
  const { step, ask, askAgain, askAll, run, stop, close, cancel } = bulk;
  const isIdle = step.kind === "idle";
  if (isIdle && selected.length === 0 && !filters) return null;
  return (
    <div className="bulk">
      {isIdle && (
        <p className="buttons">
          {selected.length > 0 && (
            <>
              <span className="quiet" role="status">{words.selected(selected.length)}</span>
              <button type="button" onClick={() => ask([...selected])}>{words.remove}</button>
              <button type="button" className="plain" onClick={clear}>{words.clear}</button>
            </>
          )}
          {selected.length === 0 && filters && <button type="button" onClick={() => void askAll(filters)}>{words.removeAll}</button>}
        </p>
      )}
      {step.kind === "counting" && (
        <p className="buttons">
          <span role="status">{words.counting(step.count)}</span>
          <button type="button" onClick={stop}>{words.stop}</button>
        </p>
      )}
      {step.kind === "confirming" && <Question listed={step.listed} cancel={cancel} confirm={(purge) => { clear(); void run(step.listed, purge, step.before); }} />}
      {step.kind === "running" && (
        <p className="buttons">
          <progress max={step.all} value={step.done} aria-label={words.progress(step.done, step.all)} />
          <span className="number">{words.progress(step.done, step.all)}</span>
          <button type="button" onClick={stop}>{words.stop}</button>
        </p>
      )}
      {step.kind === "failed" && <Failure error={step.error} retry={close} />}
      {step.kind === "finished" && <Outcome receipt={step.receipt} askAgain={askAgain} close={close} />}
    </div>
  );
}

function Question({ listed, cancel, confirm }: { listed: readonly Listed[]; cancel: () => void; confirm: (purgeMemories: boolean) => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [purge, setPurge] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    confirm(purge);
  };
  return (
    <dialog ref={dialog} className="question" aria-labelledby="question-title" onClose={cancel}>
      <form onSubmit={submit}>
        <h2 id="question-title">{listed.length === 0 ? words.none : words.title(listed.length)}</h2>
        {listed.length > 0 && (
          <>
            <p>{words.warning}</p>
            <ul className="plain-list named">
              {listed.slice(0, NAMED).map(({ uid, ref: { app, userId, sessionId } }) => (
                <li key={uid}><span className="id">{sessionId}</span> <span className="quiet small">{[app, userId].filter(Boolean).join(" / ")}</span></li>
              ))}
              {listed.length > NAMED && <li className="quiet">{words.more(listed.length - NAMED)}</li>}
            </ul>
            <label className="inline">
              <input type="checkbox" checked={purge} onChange={(event) => setPurge(event.target.checked)} />
              {words.memories}
            </label>
          </>
        )}
        <p className="buttons">
          <button type="button" autoFocus onClick={cancel}>{words.cancel}</button>
          {listed.length > 0 && <button type="submit" className="danger">{words.confirm(listed.length)}</button>}
        </p>
      </form>
    </dialog>
  );
}

function Outcome({ receipt, askAgain, close }: { receipt: Receipt; askAgain: (before: Receipt) => void; close: () => void }) {
  const { deleted, missing, failed, left, events, memories } = receipt;
  const ids = () => deleted.map(({ sessionId }) => sessionId).join("\n");
  return (
    <div className="outcome">
      <div className="receipt" role="status">
        <span>
          {words.deleted(deleted.length, events)} {memories > 0n && words.memoriesDeleted(memories)} {missing.length > 0 && words.missing(missing.length)}{" "}
          {left.length > 0 && words.stopped(left.length)}
        </span>
        <CopyButton label={words.copyIds} made={ids} />
        <CopyButton label={words.copy} made={() => receiptJson(receipt)} />
        <button type="button" onClick={close}>{words.close}</button>
      </div>
      {failed.length > 0 && (
        <div className="notice failed" role="alert">
          <h2>{words.failed(failed.length)}</h2>
          <ul className="plain-list">
            {failed.slice(0, LISTED).map(({ ref, uid, reason }) => (
              <li key={uid}><span className="id">{ref.sessionId}</span> <span className="quiet">{reason}</span></li>
            ))}
            {failed.length > LISTED && <li className="quiet">{words.more(failed.length - LISTED)}</li>}
          </ul>
          <button type="button" onClick={() => askAgain(receipt)}>{words.retry}</button>
        </div>
      )}
    </div>
  );
}
