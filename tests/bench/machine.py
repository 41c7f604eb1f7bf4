"""What a result file says about where it was measured: two runs can be compared only on the same machine."""

import importlib.metadata
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BUSY = 0.5  # processes per core that ran before the first measurement, from which on a run is not worth much
_CPUINFO = Path("/proc/cpuinfo")


def processor() -> str:
    """The model of the processor, "" where the system does not name it."""
    lines = _CPUINFO.read_text().splitlines() if _CPUINFO.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def facts() -> dict[str, Any]:
    """Version, interpreter, system, processor, and how busy the machine is. Call it before anything is measured: `load` is the
    number of processes that ran or waited to run in the last minute."""
    return {
        "threadkeep": importlib.metadata.version("threadkeep"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }


def busy(run: Mapping[str, Any]) -> str:
    """How busy the machine was when a run began, in words; "" if it was quiet or the run does not say."""
    load, cores = run.get("load") or 0, run.get("cores") or 1
    return f"a load of {load:g} on {cores} cores" if load >= BUSY * cores else ""
