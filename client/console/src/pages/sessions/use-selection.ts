// The sessions that are selected in the list.

import { useCallback, useEffect, useMemo, useState } from "react";

import type { Listed } from "./use-bulk-delete";
import type { SessionRow } from "./use-sessions";

export interface Selection {
  listed: Listed[];
  has: (uid: string) => boolean;
  /** Selects the rows, or removes them from the selection. */
  set: (rows: readonly SessionRow[], isSelected: boolean) => void;
  clear: () => void;
}

/** Returns the selection. It is empty again when `scope`, the filters of the list, changes: what is not visible is not deleted. */
export function useSelection(scope: string): Selection {
  const [chosen, setChosen] = useState<ReadonlyMap<string, Listed>>(() => new Map());
  const clear = useCallback(() => setChosen(new Map()), []);
  useEffect(clear, [scope, clear]);
  const set = useCallback((rows: readonly SessionRow[], isSelected: boolean) => {
    setChosen((before) => {
      const next = new Map(before);
      for (const { session: { uid, ref } } of rows) {
        if (isSelected && ref) next.set(uid, { ref, uid });
        else next.delete(uid);
      }
      return next;
    });
  }, []);
  return useMemo(() => ({ listed: [...chosen.values()], has: (uid: string) => chosen.has(uid), set, clear }), [chosen, set, clear]);
}
