"""Click models fitted to 35,064 real pages, beside PyClick and plain Python; and to a million."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.harness import Contender, Report, Settings, interleave, optional
from rankloop.clicks.log.log import ClickLog
from rankloop.clicks.log.yandex import read_yandex_clicks
from rankloop.clicks.models.ctr import DocumentCTR
from rankloop.clicks.models.dbn import DBN, SDBN
from rankloop.clicks.models.evaluation import evaluate_clicks
from rankloop.clicks.models.pbm import PBM
from rankloop.clicks.models.ubm import UBM

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rankloop.clicks.models.base import ClickModel

Page = tuple[Any, list[Any], set[Any]]
MODELS: dict[str, tuple[ClickModel, str, float]] = {  # ours, PyClick's module, share of pages
    "DCTR": (DocumentCTR(), "CTR", 1.0),
    "SDBN": (SDBN(iterations=0), "SDBN", 1.0),
    "PBM": (PBM(iterations=50), "PBM", 0.05),
    "UBM": (UBM(iterations=50), "UBM", 0.05),
    "DBN": (DBN(iterations=50), "DBN", 0.005),
}
MILLION = "PBM, a million pages"


def run(settings: Settings) -> Report:
    train, test = _logs(settings)
    report = Report(
        "clicks_models",
        f"Fitting click models to {len(train):,} pages of 10 documents, EM with 50 steps",
        work=len(train) / 1e6,
        unit="million pages/s",
    )
    contenders: list[Contender] = []
    for name, (model, module, share) in MODELS.items():
        ours = f"rankloop {name}"
        contenders.append(Contender(ours, lambda model=model: model.fit(replace(train))))
        report.notes.append(f"{name}, rankloop: {_quality(model.fit(train), test)}")
        contenders += _pyclick(name, model, module, train, test, share, report)
    pages = _pages(train, 0.05)
    note = "dictionaries and loops, the same EM, on a twentieth of the pages"
    plain = Contender("plain Python PBM", lambda: _plain_pbm(pages, 50), "rankloop PBM", 0.05, note)
    large = _million(1000 if settings.quick else 1_000_000)
    contenders += [plain, Contender(MILLION, lambda: PBM(iterations=50).fit(replace(large)))]
    report.timings = interleave(contenders, min(settings.repeat, 3))
    for name in MODELS:
        ratio = report.ratio(f"PyClick {name}", f"rankloop {name}")
        report.hold(f"PyClick / rankloop, {name}", ratio, 50)
    report.hold("plain Python / rankloop, PBM", report.ratio(plain.name, "rankloop PBM"), 50)
    return report


def _logs(settings: Settings) -> tuple[ClickLog, ClickLog]:
    folder = Path(os.environ.get("RANKLOOP_DATA", "../shared/data")) / "Yandex-clicks"
    if not folder.is_dir():
        made = _million(2000 if settings.quick else 35_064)
        return made, made
    train, test = (
        read_yandex_clicks(next(folder.glob(f"{part}.txt*"))) for part in ("train", "test")
    )
    most = 2000 if settings.quick else len(train)
    return train.select(np.arange(most)), test.of_queries(train.query_ids)


def _million(pages: int) -> ClickLog:
    """Pages of 10 documents for queries of very different popularity, clicks by chance."""
    rng = np.random.default_rng(0)
    queries = np.sort(rng.zipf(1.3, pages) % max(pages // 20, 2))
    rows = np.repeat(queries, 10)
    documents = (rng.random((pages, 30)).argsort(axis=1)[:, :10] + 30 * queries[:, None]).ravel()
    clicks = rng.random(10 * pages) < np.tile(0.4 / np.arange(1, 11), pages)
    return ClickLog.from_rows(rows, documents, clicks, page=np.repeat(np.arange(pages), 10))


def _chosen(log: ClickLog, share: float) -> NDArray[np.int64]:
    """Return a share of the pages, from a fixed seed."""
    return np.sort(np.random.default_rng(0).permutation(len(log))[: round(share * len(log))])


def _pages(log: ClickLog, share: float) -> list[Page]:
    """Give a share of the pages as (query, documents, clicked)."""
    pages = []
    for p in _chosen(log, share):
        rows = slice(log.offsets[p], log.offsets[p + 1])
        shown = log.document_ids[log.documents[rows]]
        query = log.query_ids[log.queries[p]]
        pages.append((query, shown.tolist(), set(shown[log.clicks[rows]].tolist())))
    return pages


def _quality(model: ClickModel, test: ClickLog) -> str:
    scores = evaluate_clicks(model, test)
    return (
        f"log-likelihood of a test page {scores.log_likelihood:.4f}, perplexity "
        f"{scores.perplexity:.4f}, given the clicks above {scores.conditional_perplexity:.4f}"
    )


def _pyclick(
    name: str,
    ours: ClickModel,
    module: str,
    train: ClickLog,
    test: ClickLog,
    share: float,
    report: Report,
) -> list[Contender]:
    found = optional(f"pyclick.click_models.{module}", report)
    if not found:
        return []
    from pyclick.click_models import Evaluation
    from pyclick.search_session.SearchResult import SearchResult
    from pyclick.search_session.SearchSession import SearchSession

    def sessions(pages: Sequence[Page]) -> list[Any]:
        made = []
        for query, shown, clicked in pages:
            session = SearchSession(query)
            session.web_results = [SearchResult(one, int(one in clicked)) for one in shown]
            made.append(session)
        return made

    few = train.select(_chosen(train, share))
    seen = test.of_queries(few.query_ids)
    part, held_out = sessions(_pages(train, share)), sessions(_pages(seen, 1.0))

    def fit(pages: list[Any] = part) -> Any:
        model = getattr(found, name)()
        model.train(pages)
        return model

    model = fit()
    likelihood = 10 * Evaluation.LogLikelihood().evaluate(model, held_out)
    perplexity = Evaluation.Perplexity().evaluate(model, held_out)[0]
    given = Evaluation.PerplexityCond().evaluate(model, held_out)[0]
    report.notes.append(
        f"{name}, PyClick, {len(few):,} pages: log-likelihood of a test page {likelihood:.4f}, "
        f"perplexity {perplexity:.4f}, given the clicks above {given:.4f}"
    )
    if share < 1:
        quality = _quality(ours.fit(few), seen)
        report.notes.append(f"{name}, rankloop, the same {len(few):,} pages: {quality}")
    note = "sessions made before" + ("" if share == 1 else f", {share:.1%} of the pages")
    return [Contender(f"PyClick {name}", fit, f"rankloop {name}", share, note)]


def _plain_pbm(pages: Sequence[Page], iterations: int) -> dict[Any, float]:
    """Fit by the same alternating EM, as one writes it in an afternoon."""
    attraction: dict[Any, float] = {}
    examination: dict[int, float] = {}

    def step(key: Callable[[Any, Any, int], Any], table: dict[Any, float]) -> None:
        yes: dict[Any, float] = {}
        seen: dict[Any, float] = {}
        for query, shown, clicked in pages:
            for rank, document in enumerate(shown):
                where = key(query, document, rank)
                a = attraction.get((query, document), 0.5)
                e = examination.get(rank, 0.5)
                if document in clicked:
                    yes[where] = yes.get(where, 0.0) + 1
                    seen[where] = seen.get(where, 0.0) + 1
                else:
                    other = e if table is attraction else a
                    mine = a if table is attraction else e
                    seen[where] = seen.get(where, 0.0) + other * (1 - mine) / (1 - a * e)
        table.update({key: (1 + yes.get(key, 0.0)) / (2 + views) for key, views in seen.items()})

    for _ in range(iterations):
        step(lambda query, document, rank: (query, document), attraction)  # noqa: ARG005
        step(lambda query, document, rank: rank, examination)  # noqa: ARG005
    return attraction
