import { useState } from "react";

import { text } from "../text";

interface Props {
  label: string;
  /** What the second click is for. */
  sure: string;
  isBusy: boolean;
  confirm: () => void;
}

/** A button for what cannot be undone: it takes two clicks. */
export function SureButton({ label, sure, isBusy, confirm }: Props) {
  const [isAsking, setAsking] = useState(false);
  if (!isAsking) return <button type="button" disabled={isBusy} onClick={() => setAsking(true)}>{label}</button>;
  const finish = () => {
    setAsking(false);
    confirm();
  };
  return (
    <>
      <button type="button" className="danger" autoFocus disabled={isBusy} onClick={finish}>{sure}</button>
      <button type="button" onClick={() => setAsking(false)}>{text.states.keep}</button>
    </>
  );
}
