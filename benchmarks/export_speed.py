"""Exported rankers in ONNX Runtime and in C, beside `predict`: one document, and a list of 100."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.data import web_search
from benchmarks.harness import Contender, Report, Settings, interleave
from rankloop.export import export
from rankloop.export.running import compile_c, onnx_session
from rankloop.rankers.registry import make_ranker

if TYPE_CHECKING:
    from collections.abc import Callable

RANKERS = {
    "linear": "prepared:scale=standard",
    "trees": "lambdamart:trees=300,leaves=31",
    "auto": "auto",
}


def run(settings: Settings) -> Report:
    report = Report(
        "export_speed", "scoring one document and a list of 100, 136 features, in one thread"
    )
    data = web_search(10 if settings.quick else 40)
    with tempfile.TemporaryDirectory(prefix="rankloop-speed-") as folder:
        for name, text in RANKERS.items():
            if name == "trees" and settings.quick:
                text = "lambdamart:trees=5"
            ranker = make_ranker(text).fit(data)
            session = onnx_session(bytes(export(ranker, "onnx")))
            function = compile_c(str(export(ranker, "c")), folder, name)
            for documents in (1, 100):
                rows = np.ascontiguousarray(data.X[:documents])
                calls = {
                    "predict": lambda r=ranker, x=rows: r.predict(x, group=[len(x)]),
                    "onnx": lambda s=session, x=rows: s.run(None, {"features": x}),
                    "c": lambda f=function, x=rows: f(x),
                }
                kind = f"{name}, {documents}"
                contenders = [
                    Contender(
                        f"{kind}: {how}",
                        _often(call, 20 if documents > 1 else 100),
                        None if how == "predict" else f"{kind}: predict",
                        share=20 if documents > 1 else 100,
                    )
                    for how, call in calls.items()
                ]
                report.timings += interleave(contenders, settings.repeat)
    return report


def _often(call: Callable[[], Any], times: int) -> Callable[[], None]:
    def repeated() -> None:
        for _ in range(times):
            call()

    return repeated
