"""Reading a file four times larger than the memory allowed, beside reading it at once."""

from __future__ import annotations

import statistics

from benchmarks.data import letor_text
from benchmarks.harness import Report, Settings, Timing
from benchmarks.memory import Usage, in_fresh_process
from rankloop.data.io.letor import iter_letor, read_letor

STREAM = "iter_letor"
WHOLE = "read_letor"


def run(settings: Settings) -> Report:
    with letor_text(16 if settings.quick else 256) as path:
        size = path.stat().st_size
        limit = size // 4
        report = Report(
            "stream_letor",
            f"Reading {size / 1e6:,.0f} MB of LETOR text within {limit / 1e6:,.0f} MB",
            work=size / 1e6,
            unit="MB/s",
        )
        calls = {STREAM: ("stream", str(path), limit), WHOLE: ("read_all", str(path))}
        used: dict[str, list[Usage]] = {name: [] for name in calls}
        for turn in range(settings.repeat + 1):
            for name, call in calls.items():
                usage = in_fresh_process("benchmarks.stream_letor", *call)
                if turn:
                    used[name].append(usage)
    for name, usages in used.items():
        seconds = [u.seconds for u in usages]
        peak = max(u.peak for u in usages)
        report.timings.append(
            Timing(
                name,
                min(seconds),
                statistics.median(seconds),
                min(u.cpu for u in usages),
                against=None if name == STREAM else STREAM,
                note=f"peak memory {peak / 1e6:,.1f} MB over the baseline",
            )
        )
    batches, rows = used[STREAM][0].result
    report.notes.append(f"{batches} batches, {rows:,} rows; each run in a process of its own")
    peak = max(u.peak for u in used[STREAM])
    report.hold("iter_letor: peak memory / limit", peak / limit, 1, at_least=False)
    return report


def stream(path: str, limit: int) -> tuple[int, int]:
    batches = rows = 0
    for batch in iter_letor(path, memory_limit=limit):
        batches += 1
        rows += batch.n_documents
    return batches, rows


def read_all(path: str) -> int:
    return read_letor(path).n_documents
