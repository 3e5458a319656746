"""Counters on Expedia's searches, in order of time: `python -m benchmarks.features_expedia DATA`.

The columns of a hotel and of its offer are fields and given features; counters are rates of clicks
of the hotel, of the destination and of the hotel's country, plain or corrected for position. Every
search is ranked before it is learnt. A booking is grade 2, a click 1. The difference to the raw
columns has a 95% interval over searches. Examination is the power of the place that fits the
clicks of the searches shown in random order.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
import tempfile
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

import rankloop as rl
from benchmarks.features import one_pass

NEVER = {
    "srch_id", "date_time", "prop_id", "position", "random_bool", "click_bool", "booking_bool",
    "gross_bookings_usd", "site_id", "visitor_location_country_id", "prop_country_id",
    "srch_destination_id",
}  # fmt: skip
FIELDS = {"item": {"country": "category"}, "request": {"destination": "category"}}


def read(path: Path) -> list[list[dict[str, str]]]:
    """Return the rows of each search, in order of time and place."""
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", newline="") as file:  # type: ignore[operator]
        rows = list(csv.DictReader(file))
    rows.sort(key=lambda row: (row["date_time"], row["srch_id"], int(row["position"])))
    return [list(group) for _, group in groupby(rows, key=lambda row: row["srch_id"])]


def as_log(searches: list[list[dict[str, str]]], columns: list[str]) -> list[dict[str, Any]]:
    """Return items, rankings and clicks as JSON objects."""
    log: list[dict[str, Any]] = []
    for rows in searches:
        first = rows[0]
        at = datetime.fromisoformat(first["date_time"]).replace(tzinfo=UTC).timestamp()
        for row in rows:
            fields = {"country": row["prop_country_id"]}
            log.append({"id": row["prop_id"], "fields": fields, "timestamp": at})
        items = [
            {
                "id": row["prop_id"],
                "features": {name: float(row[name]) for name in columns if row[name]},
            }
            for row in rows
        ]
        name, asked = first["srch_id"], {"destination": first["srch_destination_id"]}
        log.append({"ranking_id": name, "items": items, "fields": asked, "timestamp": at})
        for kind in ("click", "booking"):
            log += (
                {"ranking_id": name, "item": row["prop_id"], "type": kind, "timestamp": at}
                for row in rows
                if row[f"{kind}_bool"] == "1"
            )
    return log


def find_examination(searches: list[list[dict[str, str]]], places: int = 40) -> list[float]:
    """Return place^-power for the power that fits the clicks of searches in random order."""
    shown, clicked = np.zeros(places), np.zeros(places)
    for rows in searches:
        if rows[0]["random_bool"] == "1":
            for place, row in enumerate(rows[:places]):
                shown[place] += 1
                clicked[place] += row["click_bool"] == "1"
    known = (shown > 20) & (clicked > 0)
    x, y = np.log(np.arange(1, places + 1)[known]), np.log((clicked / shown.clip(1))[known])
    power = -np.polyfit(x, y, 1, w=np.sqrt(clicked[known]))[0]
    print(f"examination: place^-{power:.2f}")
    return [float(place**-power) for place in range(1, places + 1)]


def counters(of: str) -> dict[str, dict[str, Any]]:
    """Return rates of clicks per `impression` or per `examination`."""
    rate = {"rate": "click", "of": of, "prior": 20}
    return {
        "hotel": rate,
        "hotel_here": {**rate, "per": ["request.destination", "item"]},
        "country": {**rate, "per": "item.country"},
        "booked": {"rate": "booking", "of": of, "prior": 40},
        "times_shown": {"count": "impression"},
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.features_expedia", description=__doc__
    )
    parser.add_argument("data", type=Path, help="the folder that holds Expedia/searches.csv(.xz)")
    parser.add_argument("--rankers", nargs="+", default=["auto", "newton"])
    chosen = parser.parse_args()
    folder = chosen.data / "Expedia"
    searches = read(next(folder.glob("searches.csv*")))
    columns = [name for name in searches[0][0] if name not in NEVER]
    given: dict[str, dict[str, Any]] = {name: {"given": "number"} for name in columns}
    given |= {f"{name} in the list": {"relative": name, "by": "rank"} for name in ("price_usd",)}
    sets = {
        "columns": given,
        "with rates": given | counters("impression"),
        "with corrected rates": given | counters("examination"),
    }
    seen = find_examination(searches)
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "log.jsonl"
        path.write_text("\n".join(map(json.dumps, as_log(searches, columns))))
        for ranker in chosen.rankers:
            base = None
            for name, features in sets.items():
                data = rl.compute_features(
                    path,
                    features=features,
                    fields=FIELDS,
                    feedback={"click": 1, "booking": 2},
                    examination=seen,
                )
                quality = np.array(one_pass(ranker, data))
                base = quality if base is None else base
                more = quality - base
                half = 1.96 * np.nanstd(more) / np.sqrt(len(more))
                print(
                    f"{ranker}, {name}: {np.nanmean(quality):.4f}, "
                    f"{np.nanmean(more):+.4f} ± {half:.4f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
