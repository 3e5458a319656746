"""Time and peak memory of one call in a fresh process.

The child imports the module, notes its resident size, calls the function and notes the highest
resident size since it started; the difference is what the call needed. Both are read from
`/proc/self/status` (VmRSS, VmHWM) where it exists: on Linux `getrusage(RUSAGE_SELF).ru_maxrss`
starts at the *parent's* size, so that a child of a large process seems to need nothing. Elsewhere
ru_maxrss serves, right after the imports and at the end.

    python -m benchmarks.memory benchmarks.stream_letor read_all '["file.txt"]'
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Usage:
    """What a call took: seconds, processor seconds, bytes over the baseline, and its result."""

    seconds: float
    cpu: float
    peak: int
    result: Any


def in_fresh_process(module: str, function: str, *arguments: Any) -> Usage:
    """Call `module.function(*arguments)`, whose arguments and result JSON can hold, in a child."""
    command = [sys.executable, "-m", "benchmarks.memory", module, function, json.dumps(arguments)]
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{module}.{function} failed in its process:\n{done.stderr}")
    return Usage(**json.loads(done.stdout.splitlines()[-1]))


def resident(field: str) -> int:
    """Resident bytes of this process: VmRSS, now, or VmHWM, at the highest."""
    if _STATUS.exists():
        for line in _STATUS.read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main(module: str, function: str, arguments: str) -> None:
    call = getattr(importlib.import_module(module), function)
    baseline = resident("VmRSS")
    wall, cpu = time.perf_counter(), time.process_time()
    result = call(*json.loads(arguments))
    seconds, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resident("VmHWM") - baseline
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak, "result": result}))


if __name__ == "__main__":
    main(*sys.argv[1:])
