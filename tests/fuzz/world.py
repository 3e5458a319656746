"""Arguments of the compiled core that fit each other, by their names and types."""

from __future__ import annotations

import json
import re

import numpy as np

from rankloop import _core

from . import live
from .damage import guarded

ARRAY = re.compile(r"ndarray\[dtype=(\w+), shape=\(([*, ]+)\)[^\]]*?(, writable=False)?\]")
CHANCES = ("attraction", "satisfaction", "examination", "relevance", "relevant", "irrelevant")
CHANCES += ("after_skip", "after_click", "go_on", "draws", "click_draws", "stop_draws")
SPARSE = {"starts": ("int64", 1), "columns": ("int32", 1), "values": ("float32", 1)}
POSITIVE = ("sizes", "variance", "variances", "losses", "so_far", "counts", "purse")


class World:
    """Numbers of rows, features, queries and places, and arguments that fit them."""

    function = ""  # what the arguments are for

    def __init__(self, rng):
        self.rng = rng
        self.n = int(rng.choice([0, 1, 2, 7, 40, 200]))
        self.d = int(rng.choice([0, 1, 3, 8, 33]))
        self.k = int(rng.choice([0, 1, 2, 20]))
        self.ranks = int(rng.choice([1, 2, 10]))
        self.flag = bool(rng.integers(2))  # where an array's size depends on it
        self.q = int(rng.integers(0, 5)) if self.n == 0 else int(rng.integers(1, 8))
        cuts = np.sort(rng.integers(0, self.n + 1, max(self.q - 1, 0)))
        self.offsets = np.r_[0, cuts, [self.n] if self.q else []].astype(np.int64)
        self.grades = rng.integers(-1, 5, self.n).astype(float)
        self.chosen = rng.integers(0, self.q, self.k if self.q else 0)
        self.n_queries = self.q + int(rng.integers(1, 4))
        self.full = int(rng.choice([0, self.d // 2, self.d]))  # features with a full covariance
        self.first = int(rng.integers(0, self.k + 1))

    def argument(self, name, kind):
        """An argument of this kind that fits, as a rule."""
        rng = self.rng
        if self.function.startswith("Feature") or self.function == "read_interactions":
            return live.argument(self, name)
        if kind.endswith(" | None"):
            absent = self.flag if name in ("ranks", "logged") else rng.random() < 0.3
            return None if absent else self.argument(name, kind.removesuffix(" | None"))
        if kind.endswith(" | rankloop._core.SparseRows"):
            dense = kind.removesuffix(" | rankloop._core.SparseRows")
            sparse = rng.random() < 0.5
            if self.function == "learn_newton":
                sparse = 0 < self.full < self.d
            return self.sparse_rows() if sparse else self.argument(name, dense)
        if kind == "rankloop._core.SparseRows":
            return self.sparse_rows()
        form = ARRAY.fullmatch(kind)
        if form is not None:
            return self.array(name, form[1], form[2].count("*"))
        if kind == "bool":
            return self.flag if name in ("by_last_click", "stops") else bool(rng.integers(2))
        if kind == "float":
            chance = name in CHANCES
            return float(rng.random() if chance else rng.choice([0.0, 0.01, 0.5, 1.0, 2.0, 1e4]))
        if kind == "int":
            return self.number(name)
        if kind == "object":
            return source(rng)
        if kind == "list[bytes]":
            return [rng.bytes(int(rng.choice([0, 1, 64, 300]))) for _ in range(self.n)]
        if kind == "list[int]":
            count = self.k if name == "places" else self.n
            return rng.integers(0, max(count, 1), count).tolist()
        if kind == "list[numpy.typing.NDArray[numpy.float64]]":
            return [self.array("w", "float64", 1) for _ in range(self.k)]
        if kind == "bytes":
            return candidates(rng, *self.rows_of_json)
        if kind.startswith("tuple[float"):
            return tuple(rng.random(kind.count("float")).tolist())
        if kind.startswith("tuple[ndarray"):
            return self.pages[:7]
        if self.function == "learn_newtons" and name == "members":
            return self.newtons()
        if "tuple[" in kind:
            count = int(rng.integers(0, 4))
            return [(int(rng.integers(10)), int(rng.integers(12)), 1.0, 0.5) for _ in range(count)]
        if kind == "str":
            likeness = ["cosine", "dot", "distance"]
            return str(rng.choice(likeness if name == "how" else live.TEXTS))
        if "str" in kind:
            return [str(i) for i in range(self.n)]
        raise NotImplementedError(f"the fuzzer does not know arguments of type {kind!r} yet")

    def newtons(self):
        """Rankers that learn together; some have arrays that do not fit."""
        arrays = {
            ("x", "float32"): 2,
            ("w", "float64"): 1,
            ("total", "float64"): 1,
            ("scores", "float32"): 1,
            ("root", "float64"): 2,
            ("variances", "float64"): 1,
            ("directions", "float64"): 2,
            ("sizes", "float64"): 1,
        }
        own, self.function = self.function, "learn_newton"
        made = []
        for _ in range(int(self.rng.integers(0, 4))):
            known = {name: self.array(name, kind, n) for (name, kind), n in arrays.items()}
            if self.rng.random() < 0.1:
                name = str(self.rng.choice(list(known)))
                known[name] = known[name][1:]
            rows = self.sparse_rows() if 0 < self.full < self.d else known["x"]
            total = known["total"] if self.rng.random() < 0.5 else None
            known = {name: guarded(array, self.rng) for name, array in known.items()}
            call = rows, known["w"], total, self.number("queries"), known["scores"]
            parts = [known[name] for name in ("root", "variances", "directions", "sizes")]
            made.append((*call, *parts))
        self.function = own
        return made

    def sparse_rows(self):
        """Sparse rows that fit; some are changed after they were checked."""
        own, self.function = self.function, "SparseRows"
        arrays = {name: guarded(self.array(name, *of), self.rng) for name, of in SPARSE.items()}
        self.function = own
        made = _core.SparseRows(**arrays, n_features=self.d)
        changed = arrays[str(self.rng.choice(list(SPARSE)))]
        if len(changed) and self.rng.random() < 0.1:
            changed[self.rng.integers(len(changed))] = self.rng.choice([-1, self.d, 2**31 - 1])
        return made

    @property
    def nonzeros(self):
        """How many nonzeros each row has."""
        return np.arange(self.n) * 7 % (self.d + 1)

    def number(self, name):
        """A whole number."""
        rows, width = self.rows_of_json
        known = {
            "ranks": self.ranks,
            "n_queries": self.n_queries,
            "first": self.first,
            "end": int(self.rng.integers(self.first, self.k + 1)),
            "width": width,
            ("encode_columns", "width"): int(self.encoded.sum()),
            ("encode_columns_sparse", "width"): int(self.encoded.sum()),
            "threads": int(self.rng.integers(0, 9)) if self.rng.random() < 0.2 else 2,
            "column": int(self.rng.integers(0, self.k + 1)),
            "d": self.d,
            ("SparseRows", "n_features"): self.d,
            "max_bytes": int(self.rng.choice([100, 1 << 16, 1 << 24])),
            "block_bytes": int(self.rng.choice([0, 64, 1 << 12, 1 << 16])),
            ("unit_directions", "n"): self.k,
            ("json_rows", "n"): rows,
            ("largest_places", "few"): int(self.rng.integers(0, max(self.d, 1))) + 1,
        }
        most = {"gamma_kind": 3, "kind": 4, "base": 2, "few": 9}.get(name, 12)
        usual = int(self.rng.integers(0, most))
        return known.get((self.function, name), known.get(name, usual))

    def array(self, name, dtype, dimensions):
        """An array that fits, as a rule."""
        rng, shape = self.rng, self.shape(name, dimensions)
        if name in ("y", "grades") and dimensions == 1:
            return np.sort(self.grades) if rng.random() < 0.5 else self.grades.copy()
        if name in ("root", "matrix", "upper", "matrices"):
            return np.broadcast_to(10 * np.eye(shape[-1], dtype=dtype), shape).copy()
        if name in ("lasted", "count", "streak"):
            return np.zeros(shape, dtype)
        if name.endswith("weights") or name in POSITIVE or self.function == "chi_rows":
            return rng.random(size=shape).astype(dtype)
        if name in CHANCES:
            return np.clip(rng.random(size=shape), 0.01, 0.99).astype(dtype)
        known = {
            "offsets": lambda: self.offsets,
            "chosen": lambda: self.chosen,
            "f": lambda: -np.arange(float(self.n)),
            "features": lambda: rng.integers(0, max(self.d, 1), shape),
            "queries": lambda: rng.integers(0, self.n_queries, shape),
            "positions": lambda: self.places + 1,
            "ranks": lambda: self.places + 1,
            "clicks": lambda: rng.random(shape) < 0.3,
            "rankers": lambda: rng.random(shape) < 0.5,
            "rows": lambda: rng.permutation(self.n),
            "order": lambda: rng.permutation(self.n),
            "pairs": lambda: rng.integers(0, max(self.n, 1), shape),
            "ends": lambda: np.sort(rng.integers(0, self.n + 1, shape)),
            "text": lambda: rng.integers(32, 127, shape),
            "seats": lambda: self.seats,
            "places": lambda: self.encoded_places,
            "numbers": lambda: np.sort(rng.normal(size=shape)),
            "starts": lambda: np.r_[0, np.cumsum(self.nonzeros)],
            "columns": lambda: np.concatenate(
                [np.zeros(0, int), *(self.d - k + np.arange(k) for k in self.nonzeros)]
            ),
        }
        if name in known:
            return known[name]().astype(dtype)
        if np.dtype(dtype).kind == "f":
            return rng.normal(size=shape).astype(dtype)
        return rng.integers(0, 200, shape).astype(dtype)

    def shape(self, name, dimensions):
        """The shape that an argument of this name has as a rule."""
        n, d, q, k, ranks = self.n, self.d, self.q, self.k, self.ranks
        fitted = self.function.startswith("fit_")
        known = {
            **dict.fromkeys(("w", "total", "current", "variance", "b"), (d,)),
            **dict.fromkeys(("features", "thresholds", "alphas", "lasted", "so_far"), (k,)),
            **dict.fromkeys(("root", "matrix", "upper"), (d, d)),
            **dict.fromkeys(("count", "streak"), (1,)),
            **dict.fromkeys(("gram", "left"), (n, n)),
            **dict.fromkeys(("members", "z", "sides", "directions"), (k, d)),
            **dict.fromkeys(("relevant", "irrelevant", "go_on"), (ranks,)),
            **dict.fromkeys(("queries", "query_weights"), (q,)),
            "matrices": (k, d, d),
            "numbers": (d, 5),
            ("SparseRows", "values"): (int(self.nonzeros.sum()),),
            "rankers": (k, n),
            "splits": (2, k),
            "bins": (d, n),
            "sums": (d, 256),
            "sizes": (4,),
            "purse": (3,),
            "ends": (k,),
            "out": (n, d + k),
            "pairs": (k if n else 0, 2),
            "variances": (d - self.full,),
            ("learn_newton", "root"): (self.full, self.full),
            ("learn_solar_ii", "root"): (self.full, self.full),
            "examination": (ranks if fitted and not self.flag else ranks * ranks,),
            ("learn_prank", "thresholds"): (64,),
            ("relative_losses", "scores"): (k, n),
            ("score_rows_by", "scores"): (k, n),
            ("mix_queries", "scores"): (k, n),
            ("mix_queries", "losses"): (q, k),
            ("mix_experts", "scores"): (k, n),
            ("mix_experts", "weights"): (k,),
            ("weigh_experts", "scores"): (k, n),
            ("weigh_experts", "weights"): (k,),
            ("weigh_experts", "beliefs"): (k,),
            ("weigh_experts", "history"): (q, k),
            ("group_click_log", "counts"): (q,),
            ("read_page", "counts"): (2 * ranks + 4,),
            ("unit_directions", "draws"): (k * (d + d % 2),),
            ("draw_posterior", "weights"): (d,),
            ("draw_posterior", "draws"): (d + d % 2,),
            ("pull_to_zero", "weights"): (d,),
            ("play_pdgd", "sizes"): (2,),
            ("play_pdgd", "shown"): (len(self.chosen), ranks),
            ("play_pdgd", "clicks"): (len(self.chosen), ranks),
            ("play_pdgd", "draws"): (self.draws,),
        }
        usual = (n, d) if dimensions == 2 else (n,)
        if fitted and name in ("attraction", "satisfaction", "relevance"):
            return (len(self.pages[-1]),)
        return known.get((self.function, name), known.get(name, usual))

    @property
    def seats(self):
        """Pairs of an expert and its ranker; some sit on the wrong one, or nowhere."""
        pairs = np.stack([np.arange(self.k), self.rng.permutation(self.k)], axis=1)
        if self.k and self.rng.random() < 0.1:
            pairs[self.rng.integers(self.k), self.rng.integers(2)] = self.rng.choice(
                [-1, 0, self.k]
            )
        return pairs

    @property
    def places(self):
        """The place of each row in its query, from 0."""
        return np.arange(self.n) - np.repeat(self.offsets[:-1], np.diff(self.offsets))

    @property
    def encoded(self):
        """In how many columns each feature is encoded: none, a number and its mark, or codes."""
        return np.arange(self.d) % 4

    @property
    def encoded_places(self):
        """The first of these columns, the number of codes, and the mark, or a number of codes."""
        first = np.r_[0, np.cumsum(self.encoded)[:-1]][: self.d]
        codes = np.choose(self.encoded, [-1, 1, 0, 3])
        return np.stack([first, codes, np.where(codes == 0, first + 1, 2)], axis=1)

    @property
    def draws(self):
        """How many draws the rankings and clicks of the chosen queries take."""
        sizes = np.diff(self.offsets)[self.chosen]
        return int(np.sum(sizes + (1 + self.flag) * np.minimum(sizes, self.ranks)))

    @property
    def pages(self):
        """A log of clicks, grouped."""
        log = ["offsets", "queries", "documents", "positions", "clicks", "counts"]
        types = ["int64", *["int32"] * 3, "uint8", "float64"]
        rng, self.rng = self.rng, np.random.default_rng(self.n)  # the same each time
        given = [self.array(name, dtype, 1) for name, dtype in zip(log[:-1], types, strict=False)]
        self.rng = rng
        return _core.group_click_log(*given, None, self.n_queries)

    @property
    def rows_of_json(self):
        """How many rows and columns of text there are."""
        return self.q, max(self.d % 5, 1)


def candidates(rng, n, d):
    """JSON arrays of features, one after the other, as a client sends them, or damaged."""
    rows = (json.dumps(rng.normal(size=d).round(3).tolist()) for _ in range(n))
    text = bytearray(" ".join(rows), "utf-8")
    for _ in range(rng.integers(0, 4) if text and rng.random() < 0.5 else 0):
        text[rng.integers(len(text))] = rng.integers(256)
    return bytes(text[: rng.integers(len(text) + 1)] if rng.random() < 0.2 else text)


def source(rng):
    """A `readinto` that gives LETOR text in pieces, or misbehaves."""
    line = b"1 qid:%d 1:0.5 3:-2e3 #docid = a\n"
    text = b"".join(line % rng.integers(3) for _ in range(rng.integers(0, 60)))
    damaged = bytearray(text)
    for _ in range(rng.integers(0, 3) if text else 0):
        damaged[rng.integers(len(damaged))] = rng.integers(256)
    left, way = bytes(damaged), rng.random()

    def readinto(buffer):
        nonlocal left
        if way < 0.05:
            raise OSError("the disk is gone")
        if way < 0.1:
            return [None, -1, "text", len(buffer) + 100, 2**62][int(way * 1000) % 5]
        some = left[: min(len(buffer), 100)]
        buffer[: len(some)], left = some, left[len(some) :]
        return len(some)

    return readinto
