"""Writes the JSON schemas of the kinds that the chart uses: `python -m tests.deploy.schemas.prune FOLDER`.

FOLDER holds the strict schemas of one version of Kubernetes, as the PyPI package `kubernetes-validate` ships them
(`kubernetes_validate/kubernetes-json-schema/v1.37.0-local-strict`). These kinds need 100 kB of its 70 MB.
The schema of ServiceMonitor, whose kind is not Kubernetes' own, is written by hand: what the chart may set.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KINDS = (
    "configmap-v1",
    "deployment-apps-v1",
    "horizontalpodautoscaler-autoscaling-v2",
    "job-batch-v1",
    "networkpolicy-networking-v1",
    "poddisruptionbudget-policy-v1",
    "secret-v1",
    "service-v1",
    "serviceaccount-v1",
    "statefulset-apps-v1",
)
_SHARED = "_definitions.json"
_REFERENCE = re.compile(r"#/\$defs/([\w.\-]+)$")


def pruned(schema: Any, needed: set[str]) -> Any:
    """Returns a schema without descriptions and with references to _definitions.json; adds what it refers to."""
    if isinstance(schema, list):
        return [pruned(each, needed) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for name, value in schema.items():
        if name == "$ref":
            found = _REFERENCE.search(value)
            assert found, value
            needed.add(found[1])
            kept[name] = f"{_SHARED}#/$defs/{found[1]}"
        elif name != "$id" and not (name == "description" and isinstance(value, str)):
            kept[name] = pruned(value, needed)
    return kept


def main(folder: Path) -> None:
    everything = json.loads((folder / _SHARED).read_text())["$defs"]
    needed: set[str] = set()
    for kind in KINDS:
        _write(f"{kind}.json", pruned(json.loads((folder / f"{kind}.json").read_text()), needed))
    shared: dict[str, Any] = {}
    while missing := needed - shared.keys():
        shared |= {name: pruned(everything[name], needed) for name in missing}
    _write(_SHARED, {"$defs": dict(sorted(shared.items()))})


def _write(name: str, schema: Any) -> None:
    (HERE / name).write_text(json.dumps(schema, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
