// The check of a framework's version, when its adapter is imported.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const ENTRY = /^(>=|<)(\d+(?:\.\d+){0,2})$/;

/**
 * Throws if a package is installed in a version outside the range, in which the adapter is tested: bounds such as
 * ">=0.20 <0.21". A package that is not found is not reported here: its own import fails, and bundlers have moved it elsewhere.
 */
export function requireVersion(packageName: string, range: string, adapter: string): void {
  const installed = installedVersion(packageName);
  if (installed === undefined || admits(range, installed)) return;
  throw new Error(
    `@threadkeep/client/${adapter} is tested with ${packageName} ${range}, and ${installed} is installed; ` +
      `install it with: npm install "${packageName}@${range}"`,
  );
}

/** Returns the version of a package as this module would import it; undefined if it is not found. */
function installedVersion(packageName: string): string | undefined {
  const folders = createRequire(import.meta.url).resolve.paths(packageName) ?? [];
  for (const folder of folders) {
    try {
      return (JSON.parse(readFileSync(join(folder, packageName, "package.json"), "utf8")) as { version: string }).version;
    } catch {
      continue; // It is not in this folder.
    }
  }
  return undefined;
}

/** Returns whether a version is within all bounds. A prerelease counts as its release. */
export function admits(range: string, version: string): boolean {
  return range.split(" ").every((bound) => {
    const [, operator, limit] = ENTRY.exec(bound) ?? [];
    if (operator === undefined || limit === undefined) throw new Error(`"${bound}" is not a bound: write >= or < and a version`);
    const order = compare(numbers(version), numbers(limit));
    return operator === ">=" ? order >= 0 : order < 0;
  });
}

const numbers = (version: string) => version.replace(/[-+].*$/, "").split(".").map(Number);

function compare(left: number[], right: number[]): number {
  for (let place = 0; place < 3; place += 1) {
    const difference = (left[place] ?? 0) - (right[place] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
