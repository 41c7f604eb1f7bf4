// The validation kit of LangGraph, which needs its test runner.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

test("the validation kit of LangGraph passes whole", async () => {
  const options = ["run", "build/test/langgraph.kit.spec.js", "--globals", "--reporter=json", "--testTimeout=60000", "--hookTimeout=120000"];
  const { stdout } = await promisify(execFile)(process.execPath, ["node_modules/vitest/vitest.mjs", ...options], { maxBuffer: 1 << 28 });
  const report = JSON.parse(stdout.slice(stdout.indexOf("{"))) as Record<string, number>;
  assert.equal(report["numFailedTests"], 0);
  assert.equal(report["numPendingTests"], 0);
  assert.ok(report["numPassedTests"]! > 500, `${report["numPassedTests"]} tests passed`);
});
