// One memory: its text, where it comes from, and what may be done with it.

import { create } from "@bufbuild/protobuf";
import { useMutation } from "@connectrpc/connect-query";
import { isReason, textOf } from "@threadkeep/client";
import { ChatMessageSchema, MemoryService, type MemoryEntry } from "@threadkeep/client/v1";
import { useState, type FormEvent } from "react";

import { AccessRole, useMay } from "../../api/caller";
import { useClient } from "../../api/connection";
import { Excerpt } from "../../components/highlighted";
import { JsonText } from "../../components/json-tree";
import { LongText } from "../../components/long-text";
import { SureButton } from "../../components/sure-button";
import { Failure } from "../../components/states";
import { Ago } from "../../components/time";
import { text } from "../../text";
import { Provenance } from "./provenance";
import { nameOf } from "./use-memories";

const words = text.memories;

interface Props {
  entry: MemoryEntry;
  isDeleting: boolean;
  remove: (entry: MemoryEntry) => void;
  reread: () => void;
}

/** Only a text can be edited as one: other parts would be lost. */
const isText = ({ content }: MemoryEntry) => content?.parts.length === 1 && content.parts[0]!.content.case === "text";

export function MemoryCard({ entry, isDeleting, remove, reread }: Props) {
  const mayWrite = useMay(AccessRole.WRITER);
  const mayDelete = useMay(AccessRole.ADMIN);
  const [isEditing, setEditing] = useState(false);
  const [note, setNote] = useState("");
  const end = (said: string) => {
    setEditing(false);
    setNote(said);
    if (said) reread();
  };
  return (
    <li className="memory">
      {isEditing ? <Editor entry={entry} end={end} reread={reread} /> : <Content entry={entry} />}
      <p className="marks small">
        {entry.namespace.map((label, at) => <span key={at} className="chip">{label}</span>)}
        {entry.author && <span className="chip faint">{entry.author}</span>}
        <Provenance entry={entry} />
        <span className="quiet end">
          {words.added} <Ago time={entry.recordTime} />
          {entry.updateTime && entry.recordTime && entry.updateTime.seconds > entry.recordTime.seconds && <>, {words.changed} <Ago time={entry.updateTime} /></>}
          {entry.expireTime && <>, {words.expires} <Ago time={entry.expireTime} /></>}
        </span>
      </p>
      {entry.metadataJson && entry.metadataJson !== "{}" && (
        <details className="part">
          <summary>{words.metadata}</summary>
          <JsonText json={entry.metadataJson} />
        </details>
      )}
      {note && <p role="status" className="receipt small">{note}</p>}
      {!isEditing && (mayWrite || mayDelete) && (
        <p className="buttons">
          {mayWrite && isText(entry) && <button type="button" onClick={() => { setNote(""); setEditing(true); }}>{words.edit}</button>}
          {mayDelete && <SureButton label={words.remove} sure={words.removeSure} isBusy={isDeleting} confirm={() => remove(entry)} />}
        </p>
      )}
    </li>
  );
}

function Content({ entry }: { entry: MemoryEntry }) {
  if (entry.highlights.length > 0) return <Excerpt message={entry.content} highlights={entry.highlights} />;
  return <LongText text={textOf(entry) || words.noText} render={(shown) => <p className="written">{shown}</p>} />;
}

/** Replaces the text and keeps all else. The precondition is the memory as it was when the editor was opened, even if the list is
 * read again meanwhile: two editors do not overwrite each other. After a conflict the written text stays, next to the other one. */
function Editor({ entry: given, end, reread }: { entry: MemoryEntry; end: (said: string) => void; reread: () => void }) {
  const client = useClient();
  const [entry, setEntry] = useState(given);
  const [written, setWritten] = useState(textOf(entry));
  const [conflict, setConflict] = useState<"changed" | "gone">();
  const save = useMutation(MemoryService.method.upsertMemories);
  const meet = async () => {
    const { memories } = await client.raw(MemoryService).getMemories({ scope: entry.scope ?? {}, names: [nameOf(entry)] });
    const found = memories[0]?.entry;
    setConflict(found ? "changed" : "gone");
    if (found) setEntry(found);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const part = { ...entry.content!.parts[0]!, content: { case: "text" as const, value: written } };
    const content = create(ChatMessageSchema, { ...entry.content!, parts: [part] });
    save.mutate(
      { scope: entry.scope ?? {}, writes: [{ memory: { ...entry, content }, expectedEtag: entry.etag }] },
      { onSuccess: () => end(words.saved), onError: (error) => void (isReason(error, "VERSION_MISMATCH") && meet()) },
    );
  };
  const leave = () => {
    end("");
    if (conflict) reread();
  };
  const isBlocked = conflict === "gone" || written.trim() === "" || written === textOf(entry);
  return (
    <form className="editor" onSubmit={submit}>
      {conflict === "changed" && (
        <div className="conflict" role="alert">
          <p>{words.conflict}</p>
          <LongText text={textOf(entry) || words.noText} render={(shown) => <p className="written">{shown}</p>} />
        </div>
      )}
      {conflict === "gone" && <p className="conflict" role="alert">{words.conflictGone}</p>}
      <label>
        {words.content}
        <textarea rows={4} value={written} autoFocus onChange={(event) => setWritten(event.target.value)} onKeyDown={(event) => event.key === "Escape" && leave()} />
      </label>
      <p className="buttons">
        <button type="submit" className="primary" disabled={save.isPending || isBlocked}>{conflict ? words.saveOver : words.save}</button>
        <button type="button" onClick={leave}>{words.cancel}</button>
      </p>
      {save.error && !isReason(save.error, "VERSION_MISMATCH") && <Failure error={save.error} />}
    </form>
  );
}
