// The query of an address holds texts only: the router's own form would turn a session with the id 123 into a number.

type Texts = Record<string, string>;

export function parseSearch(query: string): Texts {
  return Object.fromEntries(new URLSearchParams(query));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const given = Object.entries(search).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  const query = new URLSearchParams(given).toString();
  return query && `?${query}`;
}

/** Returns the validation of a page's query: the named texts, each of which may be absent. Others are dropped. */
export function textsOf<const Name extends string>(...names: Name[]) {
  return (search: Record<string, unknown>): { [N in Name]?: string } => {
    const known: { [N in Name]?: string } = {};
    for (const name of names) if (typeof search[name] === "string") known[name] = search[name];
    return known;
  };
}
