// The rates of the overview. Run by `node --test`; the module is compiled as the build does, by taking its types away.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { transformWithOxc } from "vite";

const source = await readFile(new URL("../src/pages/overview/rates.ts", import.meta.url), "utf8");
const { code } = await transformWithOxc(source, "rates.ts");
const { quantile, sampleOf } = await import(`data:text/javascript,${encodeURIComponent(code)}`);

/** The metrics after so many seconds. `calls`: by RPC, how many took at most 0.1 s, at most 1 s, and in all. */
const metrics = (seconds, calls, started = 1) => ({
  started,
  read: seconds * 1000,
  values: new Map(),
  calls: new Map(Object.entries(calls).map(([rpc, [quick, slow, count]]) => [rpc, { buckets: new Map([[0.1, quick], [1, slow]]), count }])),
});

test("a sample has the calls between two reads, by group and bound", () => {
  const before = metrics(10, { AppendEvents: [5, 8, 9] });
  const after = metrics(14, { AppendEvents: [7, 13, 15], ListEvents: [2, 2, 2], GetSession: [0, 2, 2], SearchMemory: [0, 0, 4] });
  const sample = sampleOf(before, after);
  assert.equal(sample.appends.perSecond, 1.5);
  assert.deepEqual([...sample.appends.durations], [[0.1, 2], [1, 3], [Infinity, 1]]);
  assert.equal(sample.reads.perSecond, 1);
  assert.deepEqual([...sample.reads.durations], [[0.1, 2], [1, 2], [Infinity, 0]]);
  assert.equal(sample.searches.perSecond, 1);
});

test("the console's own calls, and calls of no group, are not counted", () => {
  const sample = sampleOf(metrics(0, {}), metrics(1, { GetServerInfo: [1, 1, 1], ListAuditRecords: [1, 1, 1], DeleteSession: [1, 1, 1] }));
  assert.deepEqual([sample.appends, sample.reads, sample.searches].map(({ perSecond }) => perSecond), [0, 0, 0]);
});

test("two servers, a restart, and reads at one time give no sample", () => {
  const calls = { AppendEvents: [1, 1, 1] };
  assert.equal(sampleOf(metrics(0, calls), metrics(1, calls, 2)), undefined);
  assert.equal(sampleOf(metrics(1, calls), metrics(1, calls)), undefined);
});

test("a quantile lies between the bounds of its calls", () => {
  const point = (...counts) => ({ perSecond: 0, durations: new Map([[0.1, counts[0]], [1, counts[1]], [Infinity, counts[2]]]) });
  assert.equal(quantile([point(10, 0, 0)], 0.5), 50);
  assert.equal(quantile([point(5, 0, 0), point(5, 10, 0)], 0.75), 550);
  assert.equal(quantile([point(0, 0, 3)], 0.5), 1000, "longer than the last bound");
  assert.equal(quantile([point(0, 0, 0)], 0.5), undefined);
  assert.equal(quantile([], 0.5), undefined);
});
