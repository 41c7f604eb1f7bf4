// A number with its noun.

import { whole } from "../components/numbers";

export const plural = (count: number | bigint, one: string, many = `${one}s`) => `${whole(count)} ${count === 1 || count === 1n ? one : many}`;
