// One memory: its text, where it comes from, and what may be done with it.

import { create } from "@bufbuild/protobuf";
import { useMutation } from "@connectrpc/connect-query";
import { isReason, textOf } from "@threadkeep/client";
import { ChatMessageSchema, MemoryService, type MemoryEntry } from "@threadkeep/client/v1";
import { useState, type FormEvent } from "react";

import { AccessRole, useMay } from "../../api/caller";
import { Excerpt } from "../../components/highlighted";
import { JsonText } from "../../components/json-tree";
import { LongText } from "../../components/long-text";
import { SureButton } from "../../components/sure-button";
import { Failure } from "../../components/states";
import { Ago } from "../../components/time";
import { text } from "../../text";
import { Provenance } from "./provenance";

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
      {isEditing ? <Editor entry={entry} end={end} /> : <Content entry={entry} />}
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
 * read again meanwhile: two editors do not overwrite each other. */
function Editor({ entry: given, end }: { entry: MemoryEntry; end: (said: string) => void }) {
  const [entry] = useState(given);
  const [written, setWritten] = useState(textOf(entry));
  const save = useMutation(MemoryService.method.upsertMemories);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const part = { ...entry.content!.parts[0]!, content: { case: "text" as const, value: written } };
    const content = create(ChatMessageSchema, { ...entry.content!, parts: [part] });
    save.mutate(
      { scope: entry.scope ?? {}, writes: [{ memory: { ...entry, content }, expectedEtag: entry.etag }] },
      { onSuccess: () => end(words.saved), onError: (error) => isReason(error, "VERSION_MISMATCH") && end(words.conflict) },
    );
  };
  return (
    <form className="editor" onSubmit={submit}>
      <label>
        {words.content}
        <textarea rows={4} value={written} autoFocus onChange={(event) => setWritten(event.target.value)} onKeyDown={(event) => event.key === "Escape" && end("")} />
      </label>
      <p className="buttons">
        <button type="submit" className="primary" disabled={save.isPending || written.trim() === "" || written === textOf(entry)}>{words.save}</button>
        <button type="button" onClick={() => end("")}>{words.cancel}</button>
      </p>
      {save.error && <Failure error={save.error} />}
    </form>
  );
}
