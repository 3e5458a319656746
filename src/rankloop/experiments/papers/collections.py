"""The published collections: the folders they come in, how large they are, where to get them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_LETOR_3 = "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/letor-3-0/"
_LETOR_4 = "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/letor-4-0/"
_MSLR = "https://www.microsoft.com/en-us/research/project/mslr/"
_YAHOO = "https://webscope.sandbox.yahoo.com/catalog.php?datatype=c"
_YANDEX = "http://imat2009.yandex.ru/academic/mathematic/2009/en/datasets"


@dataclass(frozen=True)
class Collection:
    """A published collection.

    Whether a folder holds all of it is decided by its size, not by the folder's name: a part, or
    another collection in a folder of this name, has other numbers of queries and documents.

    folders : the names of its folder, of which the first one found is taken
    queries, documents : its size; None for a number of documents that is not checked
    get : where to get it
    key : the name for `--data NAME=FOLDER`, if it is another one than its own
    samples : folders of parts of it
    partial : a part that is nearly the whole, is judged, and is shown as what it is: by folder, its
        numbers of queries and documents, and what it is
    only : the part of its files that belongs to it: `train`, or everything
    """

    folders: tuple[str, ...]
    queries: int
    documents: int | None
    get: str
    key: str = ""
    samples: tuple[str, ...] = ()
    partial: Mapping[str, tuple[int, int, str]] = field(default_factory=dict)
    only: str = ""

    def is_whole(self, queries: int, documents: int) -> bool:
        """Whether data of this size is all of it."""
        return queries == self.queries and documents == (self.documents or documents)


def _gov(name: str, queries: int) -> Collection:
    """Return a collection of LETOR 3.0, whose archive calls TD2003 `2003_td_dataset`."""
    task, year = name[:2].lower(), name[2:]
    folder = f"{year}_{task}_dataset"
    where = f"put the folders in QueryLevelNorm of Gov.rar (LETOR 3.0, {_LETOR_3}) into DIR"
    return Collection((name, folder, f"Gov/QueryLevelNorm/{folder}"), queries, None, where)


_YAHOO_FOLDERS = ("Yahoo", "Yahoo-LTRC", "ltrc_yahoo", "Webscope_C14B")
_GET_YAHOO = f"put set1.train.txt, set1.valid.txt and set1.test.txt (C14B, {_YAHOO}) into DIR/Yahoo"
_GET_MSLR = "unpack {0}.zip ({1}) into DIR/{0}"
_MSLR_PARTS = ("MSLR-sample",)

COLLECTIONS: Mapping[str, Collection] = {
    "OHSUMED": Collection(
        ("OHSUMED",),
        106,
        16_140,
        f"unpack OHSUMED.zip (LETOR 3.0, {_LETOR_3}) into DIR/OHSUMED",
    ),
    "MQ2007": Collection(
        ("MQ2007",),
        1_692,
        69_623,
        f"unpack MQ2007.rar (LETOR 4.0, {_LETOR_4}) into DIR/MQ2007",
        partial={
            "MQ2007-partial": (1_692, 61_644, "a part: all queries, 88.5% of the documents"),
        },
    ),
    "MQ2008": Collection(
        ("MQ2008",),
        784,
        15_211,
        f"unpack MQ2008.rar (LETOR 4.0, {_LETOR_4}) into DIR/MQ2008",
    ),
    "HP2003": _gov("HP2003", 150),
    "HP2004": _gov("HP2004", 75),
    "NP2003": _gov("NP2003", 150),
    "NP2004": _gov("NP2004", 75),
    "TD2003": _gov("TD2003", 50),
    "TD2004": _gov("TD2004", 75),
    "MSLR-WEB10K": Collection(
        ("MSLR-WEB10K",),
        10_000,
        1_200_192,
        _GET_MSLR.format("MSLR-WEB10K", _MSLR),
        samples=_MSLR_PARTS,
    ),
    "MSLR-WEB30K": Collection(
        ("MSLR-WEB30K",),
        31_531,
        3_771_125,
        _GET_MSLR.format("MSLR-WEB30K", _MSLR),
        samples=("MSLR-WEB10K", *_MSLR_PARTS),
    ),
    "Yahoo": Collection(_YAHOO_FOLDERS, 29_921, 709_877, _GET_YAHOO),
    "Yahoo-train": Collection(
        _YAHOO_FOLDERS, 19_944, 473_134, _GET_YAHOO, key="Yahoo", only="train"
    ),
    "Yandex": Collection(
        ("Yandex", "YandexIMat2009", "imat2009", "imat2009-datasets"),
        9_124,
        97_290,
        f"put imat2009_learning.txt (Internet Mathematics 2009, published at {_YANDEX}) into "
        "DIR/Yandex",
        samples=("YandexIMat2009-sample",),
    ),
}
"""Every collection that a paper used. SLAM's Yahoo has 19,944 queries, the training part of set 1;
XE_NDCG's is all of set 1. SLAM used MSLR-WEB10K, and XE_NDCG used MSLR-WEB30K."""
