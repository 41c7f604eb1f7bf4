"""What a result file says about where it was measured: two runs can be compared only on the same machine."""

import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

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
