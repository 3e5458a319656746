"""All rankers on real data, each with parameters chosen on validation data.

    python -m benchmarks.quality_rankers DATA [--out FOLDER]

DATA holds MQ2008, OHSUMED and MSLR-sample. Every ranker's parameters are chosen on the validation
part of each fold, by nDCG@10; what is finished is kept in FOLDER and not run again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import rankloop as rl

if TYPE_CHECKING:
    from rankloop.experiments.comparison import ComparisonProgress
    from rankloop.experiments.standings import Standings

RANKERS = (
    "constant", "single-feature", "coordinate-ascent", "adarank", "rankboost", "frank", "ranksvm",
    "ranknet", "listnet", "xendcg", "solar-i", "solar-ii", "newton", "auto",
)  # fmt: skip
SETS = {"MQ2008": None, "OHSUMED": None, "MSLR-sample": "log"}  # how features are scaled


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("out/quality_rankers"))
    arguments = parser.parse_args()
    tables = {name: standings(arguments.data / name, arguments.out, s) for name, s in SETS.items()}
    print("| | " + " | ".join(SETS) + " |")
    print("|---|" + "---:|" * len(SETS))
    for ranker in RANKERS:
        cells = [cell(table, ranker) for table in tables.values()]
        print(f"| `{ranker}` | " + " | ".join(cells) + " |")


def standings(folder: Path, out: Path, scale: str | None) -> Standings:
    def tell(progress: ComparisonProgress) -> None:
        if progress.state != "started":
            done = f"{progress.done}/{progress.total}"
            print(f"{folder.name} {done} {progress.ranker} {progress.fold}", file=sys.stderr)

    return rl.compare(
        folder, RANKERS, "nDCG@10", scale=scale, resume=out / folder.name, on_progress=tell
    )


def cell(table: Standings, ranker: str) -> str:
    rows = table.panel("nDCG@10", "standard")
    row = next(row for row in rows if row.ranker == ranker)
    text = f"{row.mean:.4f} ± {row.se:.4f}".replace("0.", ".")
    return f"**{text}**" if row is rows[0] else text


if __name__ == "__main__":
    main()
