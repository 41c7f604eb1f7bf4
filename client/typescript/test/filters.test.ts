import assert from "node:assert/strict";
import { test } from "node:test";

import * as sdk from "../src/node.js";
import * as pb from "../src/v1.js";

test("a filter has every condition", () => {
  const { message } = sdk.eventFilter({
    ...{ fromTime: new Date(1000), toTime: new Date(2500), afterSeq: 3, beforeSeq: 9n, roles: ["user", sdk.Role.TOOL], excludeSynthetic: true },
    ...{ authors: sdk.Authors.include({ ids: ["a"] }).exclude({ roles: ["critic"] }), view: "active", keyword: "k", keywords: ["x", "y"], match: "all" },
    ...{ branch: "b", branchMatch: "exact", page: { page: 2, pageSize: 10 } },
  });
  assert.deepEqual([message.fromTime!.seconds, message.toTime!.nanos, message.afterSeq, message.beforeSeq], [1n, 500_000_000, 3n, 9n]);
  assert.deepEqual([message.roles, message.excludeSynthetic, message.view], [[sdk.Role.USER, sdk.Role.TOOL], true, pb.LogView.ACTIVE]);
  assert.deepEqual(message.authorFilters.map(({ kind }) => [kind.case, kind.value!.ids, kind.value!.roles]), [["include", ["a"], []], ["exclude", [], ["critic"]]]);
  assert.deepEqual([message.keyword, message.keywords, message.keywordMatch], ["k", ["x", "y"], pb.KeywordMatch.ALL]);
  assert.deepEqual([message.branch, message.branchMatch], ["b", pb.BranchMatch.EXACT]);
  assert.deepEqual([message.limit.case, (message.limit.value as pb.NumberedPage).page], ["page", 2]);
});

test("a filter with several windows or an unknown name is rejected", () => {
  assert.throws(() => sdk.eventFilter({ lastN: 1, exactLastN: 1 }), /at most one window/);
  assert.throws(() => sdk.eventFilter({ view: "archive" as "active" }), /"archive" is none of active, history/);
});

test("what the other filter sets replaces what this one sets", () => {
  const mine = sdk.eventFilter({ roles: ["user"], keywords: ["a"], match: "all", branch: "b", branchMatch: "exact", afterSeq: 3, lastN: 5 });
  const { message } = mine.merge(sdk.eventFilter({ roles: ["tool"], keywords: ["c"], branch: "d" }));
  assert.deepEqual([message.roles, message.keywords, message.keywordMatch], [[sdk.Role.TOOL], ["c"], pb.KeywordMatch.UNSPECIFIED]);
  assert.deepEqual([message.branch, message.branchMatch, message.afterSeq, message.limit], ["d", pb.BranchMatch.UNSPECIFIED, 3n, { case: "lastN", value: 5 }]);
  assert.deepEqual(mine.merge(sdk.eventFilter()).message, mine.message, "an empty filter changes nothing");
});

test("a window replaces a window of any kind", () => {
  const merged = sdk.eventFilter({ lastN: 5 }).merge(sdk.eventFilter({ page: { pageSize: 7 } }));
  assert.deepEqual([merged.message.limit.case, (merged.message.limit.value as pb.NumberedPage).pageSize], ["page", 7]);
});

test("synthetic events are left out if either filter leaves them out", () => {
  const [out, all] = [sdk.eventFilter({ excludeSynthetic: true }), sdk.eventFilter({ excludeSynthetic: false })];
  assert.deepEqual([out.merge(all), all.merge(out), all.merge(all)].map(({ message }) => message.excludeSynthetic), [true, true, false]);
});

test("a provider says what is read and whether it writes", () => {
  const { limitedWindow, none, readOnly, writeOnly } = sdk.MemoryProvider;
  const all = [limitedWindow(), none(), readOnly(), writeOnly(), limitedWindow().readOnly(), limitedWindow().writeOnly()];
  assert.deepEqual(all.map(({ reads, writes }) => [reads, writes]), [[true, true], [false, false], [true, false], [false, true], [true, false], [false, true]]);
});

test("a provider collects its conditions, and the original stays", () => {
  const first = sdk.MemoryProvider.limitedWindow().filtered(sdk.Authors.include({ roles: ["planner"] }));
  const more = first.readLast(20, sdk.Authors.exclude({ ids: ["critic"] })).maxTurns(10).maxTokens(8000).maxBytes(9000n).onBranch("b").withoutSystem().withAuthorRoles({ a: "planner" });
  const { spec } = more;
  assert.deepEqual(spec.authorFilters.map(({ kind }) => kind.case), ["include", "exclude"]);
  assert.deepEqual([spec.lastN, spec.maxTurns, spec.maxTokens, spec.maxBytes, spec.branch, spec.excludeSystem, spec.authorRoles], [20, 10, 8000n, 9000n, "b", true, { a: "planner" }]);
  assert.deepEqual([first.spec.lastN, first.spec.authorFilters.length], [undefined, 1]);
});
