"""Run the benchmarks: `python -m benchmarks [NAME...] [--json FILE] [--repeat N] [--quick]`."""

from __future__ import annotations

import argparse
import importlib
import json
import os
from pathlib import Path

from benchmarks.harness import Settings
from benchmarks.tables import as_json, as_markdown, as_text
from rankloop._utils.processors import processors

NAMES = (
    "parse_letor",
    "measure",
    "stream_letor",
    "read_tables",
    "learn_online",
    "sparse",
    "second_order",
    "learn_batch",
    "assign",
    "boost",
    "kernels",
    "clicks_models",
    "export_speed",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there too")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="rounds (default: 5)")
    parser.add_argument("--quick", action="store_true", help="small data: does it run at all?")
    parser.add_argument("--markdown", action="store_true", help="print tables for README.md")
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(NAMES)}")
    if chosen.repeat < 1:
        parser.error(f"--repeat must be at least 1; found {chosen.repeat}")
    settings = Settings(chosen.repeat, chosen.quick)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    machine = f"{processors()} processors, load {load:.1f} at the start, {chosen.repeat} rounds"
    print(machine + (", small data: ratios mean nothing" if chosen.quick else "") + "\n")
    reports = []
    for name in chosen.names or NAMES:
        report = importlib.import_module(f"benchmarks.{name}").run(settings)
        reports.append(report)
        print((as_markdown if chosen.markdown else as_text)(report), flush=True)
    if chosen.json:
        found = {"machine": machine, "quick": chosen.quick, "reports": list(map(as_json, reports))}
        chosen.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
