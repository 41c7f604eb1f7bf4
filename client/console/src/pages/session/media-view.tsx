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
        {source.case === "uri" && <Elsewhere address={source.value} />}
      </figcaption>
    </figure>
  );
}

/** Returns an address of the web; undefined for every other address. */
function webOf(address: string): URL | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  return url && (url.protocol === "https:" || url.protocol === "http:") ? url : undefined;
}

/** A link that names its host. It leads to the address that was parsed: as it is written, "http:host" is relative to the page. It is not shown here: the policy of the page allows no image of another host. */
function Elsewhere({ address }: { address: string }) {
  const url = webOf(address);
  if (!url) return <p className="quiet small">{text.event.remoteUnsafe}</p>;
  const { href, host } = url;
  return (
    <p className="small">
      <span className="quiet">{text.event.remote(host)}</span>{" "}
      <a href={href} target="_blank" rel="noreferrer noopener" title={text.event.remoteHint(host)}>{text.event.remoteOpen(host)}</a>
    </p>
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
