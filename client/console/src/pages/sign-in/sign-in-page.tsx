import { useState, type FormEvent } from "react";

import { useConnection } from "../../api/connection";
import { IS_PLAIN } from "../../place";
import { text } from "../../text";

/** Takes a token. The server has the last word: a token that it refuses leads back here. */
export function SignInPage({ refusal }: { refusal: Error }) {
  const { isSignedIn, signIn } = useConnection();
  const [token, setToken] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    signIn(token.trim());
  };
  return (
    <main className="sign-in">
      <form onSubmit={submit}>
        <svg viewBox="0 0 32 32" aria-hidden="true" className="mark">
          <rect width="32" height="32" rx="8" />
          <path d="M9 10h14M9 16h9M9 22h12" />
        </svg>
        <h1>{text.signIn.title}</h1>
        {isSignedIn ? (
          <p role="alert" className="warning">
            {text.signIn.refused} <span className="quiet">{refusal.message}</span>
          </p>
        ) : (
          <p className="quiet">{text.signIn.needed}</p>
        )}
        <label>
          {text.signIn.token}
          <input type="password" autoComplete="off" spellCheck={false} autoFocus required value={token} onChange={(event) => setToken(event.target.value)} />
        </label>
        <button type="submit" className="primary">
          {text.signIn.submit}
        </button>
        {IS_PLAIN && <p className="warning">{text.signIn.plain}</p>}
        <p className="quiet small">{text.signIn.hint}</p>
      </form>
    </main>
  );
}
