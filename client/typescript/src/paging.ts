/** All items of a list, page after page, each fetched when it is reached. */
export async function* paged<Page extends { nextPageToken: string }, Item>(
  fetch: (pageToken: string) => Promise<Page>,
  items: (page: Page) => Item[],
): AsyncGenerator<Item, void> {
  let token = "";
  do {
    const page = await fetch(token);
    yield* items(page);
    token = page.nextPageToken;
  } while (token);
}
