import { useEffect, useState } from "react";

import { text } from "../text";
import { Icon } from "./icons";

/** Milliseconds for which "Copied" is shown. */
const SHOWN = 1_500;

/** Copies a text, and says so for a moment. */
export function CopyButton({ label, made }: { label: string; made: () => string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), SHOWN);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <button type="button" onClick={() => void navigator.clipboard.writeText(made()).then(() => setCopied(true))}>
      <Icon name="copy" />
      {isCopied ? text.event.copied : label}
    </button>
  );
}
