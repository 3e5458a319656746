"""Runs many cases in processes that may crash, hang or swell; what happens to one is told apart.

A fuzzer is a module with `label(case) -> str`, what a case is about, and `outcome(case, folder) ->
str`, what became of it, in a word or two; what must not happen is an exception. Each case depends
on its number alone, so that

    python -m tests.fuzz.models --first 4711 --cases 1

runs a failure again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STATUS = Path("/proc/self/status")
SECONDS = 60  # for one case, on a busy machine; a case takes milliseconds
MEGABYTES = 400  # that one case may add to the most that its process ever held
ADDRESSES = 16 << 30  # bytes of memory that a process may ask for


@dataclass
class Report:
    """What became of the cases: how many came to what, and which failed in what way."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: dict[int, str] = field(default_factory=dict)

    def __str__(self) -> str:
        total = self.outcomes.total() + len(self.failures)
        lines = [f"{total:,} cases, {len(self.failures):,} failures"]
        lines += [f"{count:9,} {outcome}" for outcome, count in sorted(self.outcomes.items())]
        lines += [f"FAILED case {case}: {what}" for case, what in sorted(self.failures.items())]
        return "\n".join(lines)


def run(fuzzer, cases: range, folder: Path, only: str = "", seconds: float = SECONDS) -> Report:
    """Run the cases of a fuzzer, one after the other, in as many processes as that takes.

    only : a regular expression that labels must begin with
    """
    report, first = Report(), cases.start
    while first < cases.stop:
        rest = range(first, cases.stop)
        first = _run_until_trouble(fuzzer, rest, folder, only, seconds, report)
    for case, what in report.failures.items():
        report.failures[case] = f"{fuzzer.label(case)}: {what}"
    return report


def _run_until_trouble(
    fuzzer, cases: range, folder: Path, only: str, seconds: float, report: Report
) -> int:
    """Run cases in one process until it ends; return the number of the next."""
    ours, theirs = os.pipe()
    module = f"tests.fuzz.{Path(fuzzer.__file__).stem}"
    command = [sys.executable, "-X", "faulthandler", "-m", module]
    command += ["--worker", str(theirs), "--first", str(cases.start), "--cases", str(len(cases))]
    command += ["--folder", str(folder), "--only", only]
    with tempfile.TemporaryFile() as errors, os.fdopen(ours, "rb", buffering=0) as pipe:
        process = subprocess.Popen(
            command, cwd=ROOT, pass_fds=[theirs], stdout=subprocess.DEVNULL, stderr=errors
        )
        os.close(theirs)
        done, rest, limit = cases.start, b"", SECONDS  # to start, whatever a case may take
        while chunk := _read(pipe, limit):
            limit = seconds
            *lines, rest = (rest + chunk).split(b"\n")
            for line in filter(None, lines):
                done, outcome, failed = json.loads(line)
                if failed:
                    report.failures[done] = outcome
                else:
                    report.outcomes[outcome] += 1
                done += 1
        if chunk is None:
            process.kill()
        code = process.wait()
        if code == 0:
            return cases.stop
        errors.seek(0)
        said = errors.read().decode(errors="replace")[-1500:]
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        report.failures[done] = "hung" if chunk is None else f"{how}\n{said}"
        return done + 1


def _read(pipe, seconds: float) -> bytes | None:
    """Wait for what a worker tells; nothing at its end, None if it takes too long."""
    return pipe.read(1 << 16) if select.select([pipe], [], [], seconds)[0] else None


def work(fuzzer, cases: range, folder: Path, only: str, descriptor: int) -> None:
    """Run cases in this process, and tell of each."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if "ASAN_OPTIONS" not in os.environ:  # a sanitizer asks for terabytes
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    wanted = re.compile(only)
    with os.fdopen(descriptor, "w") as pipe:
        print(file=pipe, flush=True)  # it has started
        for case in filter(lambda case: wanted.match(fuzzer.label(case)), cases):
            before = max_held()
            try:
                told, failed = fuzzer.outcome(case, folder), False
            except Exception as error:
                told, failed = f"raised {type(error).__name__}: {str(error)[:500]}", True
            swollen = max_held() - before
            if swollen > MEGABYTES:
                told, failed = f"took {swollen} MB: {told}", True
            print(json.dumps([case, told, failed]), file=pipe, flush=True)


def max_held() -> int:
    """Return the most megabytes that this process ever held.

    The `ru_maxrss` of a new process begins with what the one that started it held, and would hide
    all but the worst.
    """
    if STATUS.exists():
        lines = STATUS.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) >> 10
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit >> 20


def main(prepare=None) -> None:
    """Run the fuzzer that was started, from the command line."""
    fuzzer = sys.modules["__main__"]
    parser = argparse.ArgumentParser(description=fuzzer.__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--folder", type=Path, help="for files that all cases share")
    parser.add_argument("--only", default="", help="those whose label begins with this pattern")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    cases = range(given.first, given.first + given.cases)
    if given.worker is not None:
        work(fuzzer, cases, given.folder, given.only, given.worker)
        return
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or Path(made)
        if prepare is not None:
            prepare(folder)
        report = run(fuzzer, cases, folder, given.only)
    print(report)
    print(f"{time.perf_counter() - started:.0f} seconds")
    sys.exit(bool(report.failures))
