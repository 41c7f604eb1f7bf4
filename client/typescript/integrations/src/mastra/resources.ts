// Resources: the working memory and the metadata of a user, in the user's state.

import type { StorageResourceType } from "@mastra/core/storage";

import type { Client } from "@threadkeep/client";

const PREFIX = "mastra.resource/";
const METADATA = `${PREFIX}metadata/`;

const handleOf = (client: Client, userId: string) => client.userState({ app: client.app, userId });

/** Returns a resource; null if none was saved. */
export async function getResource(client: Client, id: string): Promise<StorageResourceType | null> {
  const { values } = await handleOf(client, id).get({ keyPrefix: PREFIX });
  const { [`${PREFIX}createdAt`]: createdAt, [`${PREFIX}updatedAt`]: updatedAt, [`${PREFIX}workingMemory`]: workingMemory } = values;
  if (createdAt === undefined) return null;
  const metadata = Object.entries(values).flatMap(([key, value]) => (key.startsWith(METADATA) ? [[key.slice(METADATA.length), value]] : []));
  const known = workingMemory === undefined ? {} : { workingMemory: workingMemory as string };
  return { id, ...known, metadata: Object.fromEntries(metadata), createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) };
}

/** Saves a resource in place of what was saved. */
export async function saveResource(client: Client, resource: StorageResourceType): Promise<StorageResourceType> {
  const state = handleOf(client, resource.id);
  const values = valuesOf(resource);
  const { texts } = await state.get({ keyPrefix: PREFIX });
  await state.patch(values, { remove: Object.keys(texts).filter((key) => !(key in values)) });
  return resource;
}

/** Changes what is given, metadata key by key, and creates a resource that does not exist. Concurrent changes of other keys stay. */
export async function updateResource(client: Client, given: { resourceId: string; workingMemory?: string; metadata?: Record<string, unknown> }) {
  const { resourceId: id, workingMemory, metadata } = given;
  const [before, now] = [await getResource(client, id), new Date()];
  const dates = { createdAt: before?.createdAt ?? now, updatedAt: now };
  await handleOf(client, id).patch(valuesOf({ id, workingMemory, metadata, ...dates }));
  return (await getResource(client, id))!;
}

type Given = Omit<StorageResourceType, "workingMemory" | "metadata"> & { workingMemory?: string | undefined; metadata?: Record<string, unknown> | undefined };

function valuesOf({ workingMemory, metadata = {}, createdAt, updatedAt }: Given): Record<string, unknown> {
  const entries = Object.entries(metadata).filter(([, value]) => value !== undefined);
  return {
    [`${PREFIX}createdAt`]: new Date(createdAt).toISOString(),
    [`${PREFIX}updatedAt`]: new Date(updatedAt).toISOString(),
    ...(workingMemory === undefined ? {} : { [`${PREFIX}workingMemory`]: workingMemory }),
    ...Object.fromEntries(entries.map(([key, value]) => [METADATA + key, value])),
  };
}

/** Removes the resources of all users. */
export async function clearResources(client: Client): Promise<void> {
  for await (const { userId } of client.users({ app: client.app })) {
    const state = handleOf(client, userId);
    const { texts } = await state.get({ keyPrefix: PREFIX });
    if (Object.keys(texts).length > 0) await state.patch({}, { remove: Object.keys(texts) });
  }
}
