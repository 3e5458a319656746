"""Options that commands share, checked before anything is read."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from rankloop.exceptions import RankloopError


def check_with(check: Callable[[str], object]) -> Callable[[object], object]:
    """Return a callback that turns an error about a value into a usage error."""

    def callback(given: object) -> object:
        for value in given if isinstance(given, list) else [given]:
            if value is not None:
                try:
                    check(str(value))
                except RankloopError as error:
                    raise typer.BadParameter(str(error)) from None
        return given

    return callback


def did_you_mean(word: str, known: list[str]) -> str:
    """Return a suggestion if a word looks like a known one."""
    close = get_close_matches(word, known, 1, 0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def check_ranker(text: str) -> None:
    """Raise unless this is a ranker of ours, perhaps with parameters."""
    from rankloop.experiments.peers import PEERS
    from rankloop.rankers.registry import ranker_names, read_ranker, wrapper_names

    name = text.partition(":")[0].strip()
    if name in PEERS:
        raise typer.BadParameter(
            f"{name} belongs to another package and can only be used in `compare`"
        )
    if name not in (*ranker_names(), *wrapper_names()):
        hint = did_you_mean(name, list(ranker_names()))
        raise typer.BadParameter(f"unknown ranker {name!r}{hint}; see `rankloop rankers`")
    read_ranker(text)


def check_cluster(text: str) -> None:
    """Raise unless this names a cluster."""
    from rankloop.distributed.cluster import check_cluster as check

    check(text)


def check_contender(text: str) -> None:
    """Raise unless this is a ranker of ours or of another library."""
    from rankloop.experiments.peers import PEERS, read_peer

    if text.partition(":")[0].strip() in PEERS:
        read_peer(text)
    else:
        check_ranker(text)


def check_measure(text: str) -> None:
    """Raise unless this is a measure."""
    from rankloop.measures.measure import FAMILIES, parse

    try:
        parse(text)
    except RankloopError as error:
        hint = did_you_mean(text.partition("@")[0].partition("(")[0], list(FAMILIES))
        raise typer.BadParameter(f"{error}{hint}") from None


def check_convention(name: str) -> None:
    """Raise unless this is a convention."""
    from rankloop.measures.conventions import CONVENTIONS, as_convention

    try:
        as_convention(name)
    except RankloopError as error:
        raise typer.BadParameter(f"{error}{did_you_mean(name, list(CONVENTIONS))}") from None


def check_scale(name: str) -> None:
    """Raise unless this is a scaler."""
    from rankloop.data.scaling import scaler_from_name

    scaler_from_name(name)


def check_format(name: str) -> None:
    """Raise unless this is a format."""
    from rankloop.data.io.format_names import FORMATS

    if name not in FORMATS:
        hint = did_you_mean(name, list(FORMATS))
        raise typer.BadParameter(f"unknown format {name!r}; known: {', '.join(FORMATS)}{hint}")


def check_plot(path: str) -> None:
    """Raise unless a figure can be written under this name."""
    from rankloop.plotting.figures import check_figure_path

    check_figure_path(path)
    check_folder(path)


def check_folds(text: str) -> None:
    """Raise unless this says how to make folds."""
    if text != "letor" and not (text.isdecimal() and int(text) >= 3):
        raise typer.BadParameter(
            f"folds must be letor or a whole number of at least 3; found {text!r}"
        )


def check_report(path: str) -> None:
    """Raise unless a report can be written under this name."""
    from rankloop.experiments.report import check_report_path

    check_report_path(path)


def check_page(path: str) -> None:
    """Raise unless a page of HTML can be written under this name."""
    from rankloop.experiments.report import check_report_path

    check_report_path(path, (".html",))


def check_test(name: str) -> None:
    """Raise unless this is a test of significance."""
    from rankloop.measures.significance import TESTS

    if name not in TESTS:
        hint = did_you_mean(name, list(TESTS))
        raise typer.BadParameter(f"unknown test {name!r}; known tests: {', '.join(TESTS)}{hint}")


def check_folder(path: str) -> None:
    """Raise if the folder of a file to write does not exist."""
    if path != "-" and not Path(path).absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {Path(path).parent}; make it first")


def check_output_folder(path: str) -> None:
    """Raise if a folder to write into is a file."""
    if Path(path).is_file():
        raise typer.BadParameter(f"{path} is a file; give a folder, which may be new")


_OPTIONS = {"doc_weight": "weight"}
"""The arguments of Python whose options have another name."""


def name_option(argument: str, value: object = None) -> str:
    """Write an argument of Python as the option that stands for it.

    >>> name_option("doc_id"), name_option("category", ["size", "brand"])
    ('--doc-id', '--category size,brand')
    >>> name_option("missing", ["12,50 EUR", "many"])  # a text may have commas
    "--missing '12,50 EUR' --missing many"
    """
    option = f"--{_OPTIONS.get(argument, argument).replace('_', '-')}"
    if value is None or value is True:
        return option
    if argument == "missing" and isinstance(value, list):
        return " ".join(name_option(argument, text) for text in value)
    shown = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"{option} {shlex.quote(shown)}"


Measures = Annotated[
    list[str],
    typer.Option(
        "--measure",
        "-m",
        help="Measure, such as nDCG@10 or AP(rel=2); repeat for more.",
        callback=check_with(check_measure),
    ),
]
Conventions = Annotated[
    list[str],
    typer.Option(
        "--convention",
        "-c",
        help="standard, letor4, trec_eval, ...; repeat for more.",
        callback=check_with(check_convention),
    ),
]
Measure = Annotated[
    str,
    typer.Option(
        "--measure",
        "-m",
        help="Measure, such as nDCG@10 or AP(rel=2).",
        callback=check_with(check_measure),
    ),
]
Convention = Annotated[
    str,
    typer.Option(
        "--convention",
        "-c",
        help="standard, letor4, trec_eval, ...",
        callback=check_with(check_convention),
    ),
]


def _names(incomplete: str) -> list[str]:
    from rankloop.rankers.registry import ranker_names

    return [name for name in ranker_names() if name.startswith(incomplete)]


Rankers = Annotated[
    list[str],
    typer.Option(
        "--ranker",
        "-r",
        help="Ranker, such as slam or solar-ii:gamma=1000; repeat. See `rankloop rankers`.",
        show_default=False,
        callback=check_with(check_ranker),
        autocompletion=_names,
    ),
]
Contenders = Annotated[
    list[str],
    typer.Option(
        "--ranker",
        "-r",
        help="Ranker, such as slam or solar-ii:gamma=1000, lightgbm, xgboost or catboost; repeat.",
        show_default=False,
        callback=check_with(check_contender),
        autocompletion=_names,
    ),
]
Ranker = Annotated[
    str,
    typer.Option(
        "--ranker",
        "-r",
        help="Ranker, such as slam or solar-ii:gamma=1000. See `rankloop rankers`.",
        show_default=False,
        callback=check_with(check_ranker),
        autocompletion=_names,
    ),
]


@dataclass(frozen=True)
class CategoryLimits:
    """How many columns the categories of a feature get."""

    category_limit: Annotated[
        int | None,
        typer.Option(
            "--category-limit",
            help="The most frequent categories of a feature that get a column of their own; "
            "others share columns. Default: 1000.",
            min=1,
        ),
    ] = None
    category_buckets: Annotated[
        int | None,
        typer.Option(
            "--category-buckets",
            help="The columns that the other categories share, by a hash; with 0, they count as "
            "missing. Default: 256.",
            min=0,
        ),
    ] = None

    @property
    def chosen(self) -> dict[str, int]:
        """The limits that are given."""
        return {name: value for name, value in vars(self).items() if value is not None}


Scale = Annotated[
    str | None,
    typer.Option(
        "--scale",
        help="Scale features: query-minmax, standard or log.",
        metavar="S",
        callback=check_with(check_scale),
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        help="Write a figure to this .png, .svg or .pdf file.",
        callback=check_with(check_plot),
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Run on a Dask cluster: its scheduler's address, or local:N for N processes here.",
        metavar="ADDRESS|local:N",
        callback=check_with(check_cluster),
    ),
]
ByQuery = Annotated[
    bool,
    typer.Option(
        "--by-query", help="With --cluster: rows of a query may be in several files; gather them."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Seed = Annotated[int, typer.Option("--seed", help="Random seed.", min=0)]
