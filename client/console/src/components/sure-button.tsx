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
  const [isArmed, setArmed] = useState(false);
  if (!isArmed) return <button type="button" disabled={isBusy} onClick={() => setArmed(true)}>{label}</button>;
  const finish = () => {
    setArmed(false);
    confirm();
  };
  return (
    <>
      <button type="button" className="danger" autoFocus disabled={isBusy} onClick={finish}>{sure}</button>
      <button type="button" onClick={() => setArmed(false)}>{text.states.keep}</button>
    </>
  );
}
