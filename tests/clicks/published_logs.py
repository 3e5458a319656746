"""Simulated logs in the layouts of RelPred and TianGong-ST, as large as wanted.

    python -m tests.clicks.published_logs --sessions 60000

writes both, and prints how many rows a second of processor time are read, and the memory.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator


class SimulatedPage(NamedTuple):
    """A page of a session: its query, documents from the top, and the clicked ones in order."""

    session: int
    query: int
    documents: list[int]
    clicked: list[int]


def simulate_pages(sessions: int, rng: np.random.Generator) -> Iterator[SimulatedPage]:
    """Give pages of ten documents, of one to three queries a session."""
    for session in range(sessions):
        for _ in range(rng.integers(1, 4)):
            query = int(rng.zipf(1.3) % 50_000)
            documents = (query * 31 + rng.permutation(30)[:10]).tolist()
            chosen = rng.permutation(10)[rng.random(10) < 0.12]
            yield SimulatedPage(session, query, documents, [documents[k] for k in chosen])


def write_relpred(path: Path, pages: Iterator[SimulatedPage], odd: bool = False) -> None:
    """Write `session time Q query region url ...` and `session time C url`, with tabs.

    odd : adds clicks on documents of other pages, blank lines, other line ends, and lines that
        cannot be read
    """
    with path.open("w", newline="") as file:
        for number, (session, query, documents, clicked) in enumerate(pages):
            end = "\r\n" if odd and number % 3 == 0 else "\n"
            shown = "\t".join(map(str, documents))
            file.write(f"{session}\t{number}\tQ\t{query}\t{query % 4}\t{shown}{end}")
            for url in clicked:
                file.write(f"{session}\t{number}\tC\t{url}{end}")
            if odd:
                file.write(f"{session}\t{number}\tC\t-5{end}{end}")
                file.write(
                    (f"{session}\t{number}\tC", "no tabs", "1\t2\tQ\t3\t4")[number % 3] + end
                )


def write_tiangong(path: Path, pages: Iterator[SimulatedPage], odd: bool = False) -> None:
    """Write sessions of interactions in XML.

    odd : adds interactions without results, ranks in another order, and interactions that cannot
        be used
    """
    open_session = None
    with path.open("w") as file:
        file.write('<?xml version="1.0" encoding="utf-8"?>\n<TianGong>\n')
        for number, (session, query, documents, clicked) in enumerate(pages):
            if session != open_session:
                file.write("</session>\n" if open_session is not None else "")
                file.write(f'<session num="{session}" starttime="2015-04-01 00:00:00">\n')
                open_session = session
            results = [
                f'<result rank="{rank}"><url>http://e.cn/?a=1&amp;d={document}</url>'
                f"<docid>{document}</docid><title>{escape('标题 <b> & 1')}</title></result>"
                for rank, document in enumerate(documents, start=1)
            ]
            clicks = "".join(
                f'<click num="{n}"><rank>{documents.index(document) + 1}</rank></click>'
                for n, document in enumerate(clicked, start=1)
            )
            file.write(
                f'<interaction num="{number}"><query>查询 {query}</query><query_id>{query}'
                f"</query_id><results>{''.join(results[::-1] if odd else results)}</results>"
                f"<clicked>{clicks}</clicked></interaction>\n"
            )
            if odd:
                file.write(f'<interaction num="0"><query_id>{query}</query_id></interaction>\n')
                file.write('<interaction num="-1"><result rank="x"/></interaction>\n')
        file.write(("</session>\n" if open_session is not None else "") + "</TianGong>\n")


def measure(path: str) -> None:
    """Read one log, and print its speed and memory."""
    from rankloop.clicks.log.relpred import read_relpred
    from rankloop.clicks.log.tiangong import read_tiangong

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    log = (read_relpred if path.endswith(".txt") else read_tiangong)(path)
    seconds = time.process_time() - start
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    rows = len(log.documents)
    print(
        f"{Path(path).name}, {Path(path).stat().st_size / 1e6:.0f} MB, {rows:,} rows: "
        f"{rows / seconds:,.0f} rows per second of processor time, {grown / rows:.0f} bytes a row"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=60_000)
    parser.add_argument("--read", help="Only read this file.")
    chosen = parser.parse_args()
    if chosen.read:
        measure(chosen.read)
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, write in (("relpred.txt", write_relpred), ("tiangong.xml", write_tiangong)):
            write(Path(folder) / name, simulate_pages(chosen.sessions, np.random.default_rng(0)))
            command = [sys.executable, "-m", "tests.clicks.published_logs"]
            subprocess.run([*command, "--read", str(Path(folder) / name)], check=True)


if __name__ == "__main__":
    main()
