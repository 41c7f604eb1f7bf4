import type { MediaPart } from "@threadkeep/client/v1";
import { useEffect, useState } from "react";

import { bytes } from "../../components/numbers";
import { text } from "../../text";

/** Kinds that a browser shows without running anything. SVG is among images: in <img> it has no scripts and no network. */
const IMAGE = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml)$/;
const AUDIO = /^audio\/[\w.+-]+$/;
const VIDEO = /^video\/[\w.+-]+$/;

/** Media of a message. Only what the message itself has is shown: loading a URI would show another host who reads. */
export function MediaView({ part: { source, mimeType, name } }: { part: MediaPart }) {
  if (source.case === "data") return <Inline data={source.value} kind={mimeType} name={name} />;
  return (
    <figure className="media">
      <figcaption>
        {name && <strong>{name}</strong>} <span className="quiet">{mimeType}</span>
        <br />
        {source.case === "uri" ? <code>{source.value}</code> : <span>{text.event.file(source.value ?? "")}</span>}
        {source.case === "uri" && <p className="quiet small">{text.event.remote}</p>}
      </figcaption>
    </figure>
  );
}

function Inline({ data, kind, name }: { data: Uint8Array; kind: string; name: string }) {
  const url = useBlob(data, kind);
  const caption = text.event.media(name || kind, bytes(data.length));
  return (
    <figure className="media">
      {url && IMAGE.test(kind) && <img src={url} alt={name || text.event.image} />}
      {url && AUDIO.test(kind) && <audio controls src={url} />}
      {url && VIDEO.test(kind) && <video controls src={url} />}
      <figcaption className="quiet small">{caption}</figcaption>
    </figure>
  );
}

function useBlob(data: Uint8Array, kind: string): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([new Uint8Array(data)], { type: kind }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [data, kind]);
  return url;
}
