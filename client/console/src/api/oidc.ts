// Signing in at an OIDC issuer: authorization code with PKCE. What is needed on the way back is in sessionStorage of the tab, as is the
// token that comes of it. There is no client secret, and no refresh token is kept: who is refused signs in again.

import { BASE } from "../place";

const KEY = "threadkeep.sign-in";
/** The address to which the issuer leads back. */
const RETURN = `${BASE}sign-in`;

export interface Oidc {
  issuer: string;
  clientId: string;
  /** What the tokens that the server accepts are for. */
  audience: string;
  scopes: string;
}

interface Pending extends Oidc {
  state: string;
  nonce: string;
  verifier: string;
  tokenEndpoint: string;
  /** The page that was opened. */
  address: string;
}

/** Why a sign-in failed, by a key of the texts; `detail` is what the issuer says. */
export class SignInFailure extends Error {
  constructor(
    readonly kind: "insecure" | "discovery" | "origin" | "unknown" | "refused" | "exchange" | "audience",
    readonly detail = "",
  ) {
    super(detail || kind);
  }
}

/** Returns the issuer of the server; undefined if its users give a token. */
export async function readOidc(): Promise<Oidc | undefined> {
  const answer = await fetch(`${BASE}settings.json`);
  if (!answer.ok) return undefined;
  const settings = (await answer.json()) as { oidc?: Oidc };
  return settings.oidc;
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

async function challengeOf(verifier: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
}

async function discover(issuer: string): Promise<{ authorization: URL; token: URL }> {
  let found: Record<string, unknown>;
  try {
    const answer = await fetch(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
    found = (await answer.json()) as Record<string, unknown>;
  } catch (error) {
    throw new SignInFailure("discovery", String(error));
  }
  const [authorization, token] = [String(found["authorization_endpoint"]), String(found["token_endpoint"])];
  if (found["issuer"] !== issuer || !URL.canParse(authorization) || !URL.canParse(token)) throw new SignInFailure("discovery");
  // The policy of the page allows calls to the origin of the issuer only.
  if (new URL(token).origin !== new URL(issuer).origin) throw new SignInFailure("origin", token);
  if (!/^https?:$/.test(new URL(authorization).protocol)) throw new SignInFailure("discovery");
  return { authorization: new URL(authorization), token: new URL(token) };
}

/** Leads to the issuer. */
export async function beginSignIn(oidc: Oidc): Promise<void> {
  if (!globalThis.isSecureContext) throw new SignInFailure("insecure");
  const { authorization, token } = await discover(oidc.issuer);
  const address = isReturning() ? BASE : location.pathname + location.search;
  const pending: Pending = { ...oidc, state: random(), nonce: random(), verifier: random(), tokenEndpoint: token.href, address };
  sessionStorage.setItem(KEY, JSON.stringify(pending));
  const query = {
    response_type: "code",
    client_id: oidc.clientId,
    redirect_uri: location.origin + RETURN,
    scope: oidc.scopes,
    audience: oidc.audience,
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: await challengeOf(pending.verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(query)) authorization.searchParams.set(name, value);
  location.assign(authorization);
}

/** Whether the issuer has led back to this page. */
export const isReturning = () => location.pathname === RETURN;

function takePending(): Pending | undefined {
  const stored = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY); // it is used once
  return stored === null ? undefined : (JSON.parse(stored) as Pending);
}

function claimsOf(token: unknown): Record<string, unknown> | undefined {
  if (typeof token !== "string") return undefined;
  try {
    const payload = token.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/");
    return JSON.parse(atob(payload)) as Record<string, unknown>;
  } catch { // no JWT
    return undefined;
  }
}

/** Returns the token that is for the server. The server verifies it; here it is only chosen. */
function chosenOf(answer: Record<string, unknown>, { audience, nonce }: Pending): string {
  for (const name of ["access_token", "id_token"]) {
    const claims = claimsOf(answer[name]);
    const isOurs = name !== "id_token" || claims?.["nonce"] === nonce;
    if (claims && isOurs && [claims["aud"]].flat().includes(audience)) return String(answer[name]);
  }
  throw new SignInFailure("audience", audience);
}

async function finish(): Promise<{ token: string; address: string }> {
  const query = new URLSearchParams(location.search);
  const pending = takePending();
  if (!pending || query.get("state") !== pending.state) throw new SignInFailure("unknown");
  if ((query.get("iss") ?? pending.issuer) !== pending.issuer) throw new SignInFailure("unknown");
  const code = query.get("code");
  if (!code) throw new SignInFailure("refused", query.get("error_description") ?? query.get("error") ?? "");
  const { tokenEndpoint, clientId, verifier, address } = pending;
  const body = new URLSearchParams({ grant_type: "authorization_code", code, redirect_uri: location.origin + RETURN, client_id: clientId, code_verifier: verifier });
  let answer: Response;
  let given: Record<string, unknown>;
  try {
    answer = await fetch(tokenEndpoint, { method: "POST", body });
    given = (await answer.json()) as Record<string, unknown>;
  } catch (error) {
    throw new SignInFailure("exchange", String(error));
  }
  if (!answer.ok) throw new SignInFailure("exchange", String(given["error_description"] ?? given["error"] ?? answer.status));
  return { token: chosenOf(given, pending), address };
}

let finishing: ReturnType<typeof finish> | undefined;

/** Exchanges the code of the address for a token, once. Returns it with the page that was opened before. */
export const finishSignIn = () => (finishing ??= finish());
