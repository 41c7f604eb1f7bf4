/** Iterates over all items of a list and fetches each page when it is reached. */
export async function* paged<P extends { nextPageToken: string }, Item>(fetch: (token: string) => Promise<P>, items: (page: P) => Item[]) {
  let token = "";
  do {
    const page = await fetch(token);
    yield* items(page);
    token = page.nextPageToken;
  } while (token);
}
