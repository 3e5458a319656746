"""Texts that describe the findings of a summary, each with what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop._utils.messages import count
from rankloop.data.io.tables.leaks import leaks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rankloop.data.summary import Summary


def notes(s: Summary) -> Iterator[str]:
    """Return texts for the findings, the most serious first."""

    def some(columns: Sequence[int]) -> str:
        named = [s.feature_summaries[j].name for j in columns[:4]]
        return ", ".join(named) + (", ..." if len(columns) > 4 else "")

    def of_queries(n: int, verb: str) -> str:
        return f"{n:,} of {count(s.queries, 'query', 'queries')} {_verb(n, verb)}"

    def of_features(columns: Sequence[int], verb: str) -> str:
        return f"{count(len(columns), 'feature', 'features')} {_verb(len(columns), verb)}"

    if s.documents == 0:
        yield "there are no documents: check the file and its format"
        return
    if s.unjudged:
        share = s.unjudged / s.documents
        yield (
            f"{share:.1%} of documents are unjudged (grade below 0): judge more, or set them to 0 "
            "to count them as irrelevant"
        )
    if s.empty_queries:
        yield f"{of_queries(s.empty_queries, 'be')} without documents: check how they were joined"
    if s.no_relevant:
        yield (
            f"{of_queries(s.no_relevant, 'have')} no relevant document: conventions score such "
            "queries differently"
        )
    if s.one_grade:
        yield (
            f"{of_queries(s.one_grade, 'have')} documents of one grade only: a ranker learns "
            f"nothing from {'it' if s.one_grade == 1 else 'them'}"
        )
    if s.repeated_ids:
        yield (
            f"{count(s.repeated_ids, 'document', 'documents')} {_verb(s.repeated_ids, 'repeat')} "
            "an id within a query: keep one each"
        )
    if s.duplicate_documents:
        yield (
            f"{count(s.duplicate_documents, 'document', 'documents')} "
            f"{_verb(s.duplicate_documents, 'have')} the same features as another of the query: "
            "no ranker can tell them apart"
        )
    if s.wide_features:
        low = min(s.feature_summaries[j].minimum for j in s.wide_features)
        high = max(s.feature_summaries[j].maximum for j in s.wide_features)
        yield (
            f"{of_features(s.wide_features, 'have')} huge or heavy-tailed values, {low:.2g} to "
            f"{high:.2g} ({some(s.wide_features)}): scale before linear learning (--scale log)"
        )
    if s.sentinel_features:
        columns = [j for j, _ in s.sentinel_features]
        values = ", ".join(f"{v:g}" for v in sorted({v for _, v in s.sentinel_features}))
        yield (
            f"{of_features(columns, 'use')} {values} where the rest is not negative "
            f"({some(columns)}): perhaps a missing value; mark it as NaN or 0"
        )
    leaky = [j for j, f in enumerate(s.feature_summaries) if leaks([f.name])]
    if leaky:
        it = "it" if len(leaky) == 1 else "them"
        yield (
            f"{count(len(leaky), 'name', 'names')} {_verb(len(leaky), 'look')} like leaks "
            f"({some(leaky)}), unknown before a model ranks: leave {it} out with --drop, "
            f"or use {it} with --include"
        )
    gaps = [j for j, f in enumerate(s.feature_summaries) if f.missing]
    if gaps:
        yield (
            f"{of_features(gaps, 'have')} missing values ({some(gaps)}): `rankloop train` takes "
            "them as they are; in Python, use Described(ranker) or trees"
        )
    if s.constant_features:
        yield (
            f"{of_features(s.constant_features, 'be')} constant ({some(s.constant_features)}): "
            f"drop {'it' if len(s.constant_features) == 1 else 'them'}"
        )
    if s.duplicate_features:
        columns = [j for group in s.duplicate_features for j in group[1:]]
        yield (
            f"{of_features(columns, 'repeat')} an earlier one ({some(columns)}): "
            f"drop {'it' if len(columns) == 1 else 'them'}"
        )
    if s.query_level_features:
        yield (
            f"{of_features(s.query_level_features, 'be')} constant inside every query "
            f"({some(s.query_level_features)}): a linear ranker cannot use "
            f"{'it' if len(s.query_level_features) == 1 else 'them'}"
        )


def _verb(n: int, verb: str) -> str:
    singular, plural = {"be": ("is", "are"), "have": ("has", "have")}.get(verb, (f"{verb}s", verb))
    return singular if n == 1 else plural
