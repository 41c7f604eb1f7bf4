// The token of this tab. It is in sessionStorage only: another tab, and the same tab after it was closed, sign in again.

const KEY = "threadkeep.token";

export function storedToken(): string {
  return sessionStorage.getItem(KEY) ?? "";
}

export function storeToken(token: string): void {
  if (token) sessionStorage.setItem(KEY, token);
  else sessionStorage.removeItem(KEY);
}
