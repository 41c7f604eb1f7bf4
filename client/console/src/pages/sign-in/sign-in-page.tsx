import { useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";

import { useConnection } from "../../api/connection";
import { isReturning, readOidc } from "../../api/oidc";
import { storeToken } from "../../api/session-token";
import { BASE, IS_PLAIN } from "../../place";
import { text } from "../../text";
import { OidcButton } from "./oidc-button";

interface Props {
  /** Why the server wants another credential; undefined if it has not been called. */
  refusal: Error | undefined;
  /** Why the issuer gave none. */
  failure?: Error;
}

/** Takes a token, or leads to the issuer that gives one. The server has the last word: a token that it refuses leads back here. */
export function SignInPage({ refusal, failure }: Props) {
  const { isSignedIn, signIn } = useConnection();
  const [token, setToken] = useState("");
  const { data: oidc } = useQuery({ queryKey: ["settings"], queryFn: async () => (await readOidc()) ?? null, staleTime: Infinity });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isReturning()) { // the address has the code of a sign-in that failed
      storeToken(token.trim());
      location.replace(BASE);
    } else signIn(token.trim());
  };
  return (
    <main className="sign-in">
      <form onSubmit={submit}>
        <svg viewBox="0 0 32 32" aria-hidden="true" className="mark">
          <rect width="32" height="32" rx="8" />
          <path d="M9 10h14M9 16h9M9 22h12" />
        </svg>
        <h1>{text.signIn.title}</h1>
        {isSignedIn && refusal && (
          <p role="alert" className="warning">
            {text.signIn.refused} <span className="quiet">{refusal.message}</span>
          </p>
        )}
        {!isSignedIn && !oidc && <p className="quiet">{text.signIn.needed}</p>}
        {oidc && <OidcButton oidc={oidc} failure={failure} />}
        {oidc && <p className="quiet small">{text.signIn.or}</p>}
        <label>
          {text.signIn.token}
          <input type="password" autoComplete="off" spellCheck={false} autoFocus={!oidc} required value={token} onChange={(event) => setToken(event.target.value)} />
        </label>
        <button type="submit" className={oidc ? undefined : "primary"}>
          {text.signIn.submit}
        </button>
        {IS_PLAIN && <p className="warning">{text.signIn.plain}</p>}
        <p className="quiet small">{text.signIn.hint}</p>
      </form>
    </main>
  );
}
