"""Features whose products approximate a kernel: Nystrom and random Fourier features."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankloop._utils.arithmetic import cos, dot, log, row_pairs, sin
from rankloop.data.transformer import Transformer
from rankloop.data.validation import as_matrix
from rankloop.exceptions import DataError
from rankloop.rankers.forms import Array
from rankloop.rankers.kernel.blocks import kernel_blocks
from rankloop.rankers.kernel.kernels import RBF, Kernel
from rankloop.rankers.kernel.text import as_call, as_kernel, as_syntax
from rankloop.rankers.parameters import check_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.transformer import Offsets, Rows

METHODS = ("nystrom", "fourier", "orthogonal")
A_TIME = 8  # landmarks that one query may give to a stream
NOVEL = 1e-3  # share of K(x, x) that no landmark tells, from which on a row may become one


class KernelFeatures(Transformer):
    """A map of rows to `size` features, whose products approximate K(x, z).

    `nystrom(kernel,size)` projects onto landmarks, for any kernel: with L L' the Gram matrix of
    landmarks, phi(x) = L^-1 K(landmarks, x). As L is triangular, a new landmark adds a feature and
    changes no other, so what a linear ranker has learnt stays valid while landmarks are added.
    `fourier(rbf(s),size)` has cos(w.x) and sin(w.x) for random w, and `orthogonal` uses orthogonal
    w, which approximate better with the same size. Neither depends on the data.

    Parameters
    ----------
    text : `nystrom(rbf(1),200)`, `fourier(rbf(1),200)` or `orthogonal(rbf(1),200)`
    random_state : random seed of landmarks and of frequencies

    Attributes
    ----------
    n_features_in_, feature_names_in_ : see :class:`rankloop.data.transformer.Transformer`
    learnt_ : arrays by name: `landmarks` and `root`, or `frequencies`

    Notes
    -----
    Cost: O(d size) per row for Fourier features; for Nystrom O(d size + size^2), and O(size^2)
    memory.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((300, 3), dtype=np.float32)
    >>> phi = KernelFeatures("nystrom(rbf(1),40)").fit(X).transform(X)
    >>> bool(np.abs(phi @ phi.T - RBF(1.0)(X, X)).max() < 0.01)
    True

    References
    ----------
    Williams and Seeger, Using the Nystrom method to speed up kernel machines (2001). Rahimi and
    Recht, Random features for large-scale kernel machines (2007). Yu et al., Orthogonal random
    features (2016).
    """

    learnt_: dict[str, NDArray[Any]]

    def __init__(self, text: str = "nystrom(rbf(1),200)", random_state: int = 0) -> None:
        self.text = text
        self.random_state = random_state

    @property
    def method(self) -> str:
        """The method: one of the three kinds of features."""
        return _parse(self.text)[0]

    @property
    def kernel(self) -> Kernel:
        """The kernel that products of features approximate."""
        return _parse(self.text)[1]

    @property
    def size(self) -> int:
        """The number of features."""
        return _parse(self.text)[2]

    def _learn(self, X: Rows) -> None:
        """Learn from rows: landmarks are a random choice of them."""
        new = KernelFeatures(self.text, self.random_state)
        new._start(X.shape[1])
        order = np.random.default_rng(self.random_state).permutation(len(X))
        for block in kernel_blocks(len(X), self.size, 1 << 20):
            if new.is_full:
                break
            new._take(X[order[block]], self.size, greedy=False)
        self.learnt_ = new.learnt_

    def partial_fit(self, X: object, y: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Continue with the rows of one query: the most novel ones become landmarks."""
        rows = as_matrix(X)
        self._check_width(rows)
        if not self.is_started:
            self.kernel.check_rows(rows)
            self._start(rows.shape[1])
        if not self.is_full:
            self._take(rows, A_TIME, greedy=True)
        return self

    def _width(self) -> int:
        rows = "landmarks" if self.method == "nystrom" else "frequencies"
        return int(self.learnt_[rows].shape[1])

    def _transform(self, X: Rows, offsets: Offsets) -> Rows:  # noqa: ARG002
        """Return the features of each row; those without a landmark are 0."""
        features = np.zeros((len(X), self.size), np.float32)
        for block in kernel_blocks(len(X), self.size):
            features[block] = self._map_rows(X[block])
        return features

    def _names_out(self, names: tuple[str, ...] | None) -> tuple[str, ...]:  # noqa: ARG002
        return tuple(f"kernelfeatures{k}" for k in range(self.size))

    @property
    def is_started(self) -> bool:
        """Whether it has seen any rows, or at least their width."""
        return hasattr(self, "learnt_")

    @property
    def is_full(self) -> bool:
        """Whether there is nothing more to learn."""
        return self.method != "nystrom" or len(self.learnt_["landmarks"]) == self.size

    def to_dict(self) -> dict[str, object]:
        """Return everything that was learnt, as plain values and arrays."""
        return {"text": self.text, "random_state": self.random_state, **self.learnt_}

    @classmethod
    def from_dict(cls, manifest: Mapping[str, Any]) -> Self:
        """Make features from the values of :meth:`to_dict`."""
        known = dict(manifest)
        features = cls(known.pop("text", None), known.pop("random_state", None))
        _parse(features.text)
        check_whole("random_state", features.random_state, 0)
        features.learnt_ = known
        return features

    def check(self, width: int) -> None:
        """Raise unless what was learnt, which comes from a file, fits this number of features."""
        if self.method == "nystrom":
            landmarks = self.learnt_.get("landmarks")
            n = len(landmarks) if isinstance(landmarks, np.ndarray) and landmarks.ndim == 2 else 0
            forms = {"landmarks": Array((n, width), np.float32), "root": Array((n, n))}
        else:
            n = self.size // 2
            forms = {"frequencies": Array((n, width), np.float32)}
        if self.learnt_.keys() != forms.keys() or n > self.size:
            raise DataError(f"the saved state of {self.text} is damaged: {', '.join(self.learnt_)}")
        for name, form in forms.items():
            form.check(name, self.learnt_[name])
        if self.method == "nystrom":
            self.kernel.check_rows(self.learnt_["landmarks"])

    def _start(self, width: int) -> None:
        check_whole("random_state", self.random_state, 0)
        rng = np.random.default_rng(self.random_state)
        if self.method == "nystrom":
            nothing = np.zeros((0, width), np.float32), np.zeros((0, 0))
            self.learnt_ = dict(zip(("landmarks", "root"), nothing, strict=True))
            return
        assert isinstance(self.kernel, RBF)
        draw = _gaussian if self.method == "fourier" else _orthogonal
        frequencies = draw(rng, self.size // 2, width) / np.sqrt(self.kernel.sigma2)
        self.learnt_ = {"frequencies": frequencies.astype(np.float32)}

    def _map_rows(self, X: Rows) -> Rows:
        if self.method != "nystrom":
            angles = row_pairs(X, self.learnt_["frequencies"])
            waves = np.hstack([cos(angles), sin(angles)]) * np.sqrt(2 / self.size)
            return np.asarray(waves, np.float32)
        values = np.zeros((len(X), self.size), np.float32)
        landmarks, root = self.learnt_["landmarks"], self.learnt_["root"]
        if len(landmarks):
            near = self.kernel(X, landmarks)
            values[:, : len(landmarks)] = row_pairs(near, root.astype(np.float32))
        return values

    def _take(self, X: Rows, most: int, *, greedy: bool) -> None:
        """Make landmarks of rows that others do not represent: the most novel first, or in order.

        `root` is the inverse of L, to which a new landmark adds a row.
        """
        self.kernel.check_rows(X)
        landmarks, root = self.learnt_["landmarks"], self.learnt_["root"]
        phi = row_pairs(self.kernel(X, landmarks).astype(np.float64), root)
        diagonal = self.kernel.diagonal(X).astype(np.float64)
        left = diagonal - row_pairs(phi**2, np.ones((1, phi.shape[1])))[:, 0]
        for _ in range(min(most, self.size - len(landmarks))):
            novel = left > NOVEL * diagonal
            if not novel.any():
                break
            i = int(left.argmax() if greedy else novel.argmax())
            length = np.sqrt(left[i])
            row = np.append(-row_pairs(root.T, phi[i : i + 1])[:, 0], 1.0) / length
            root = np.block([[root, np.zeros((len(root), 1))], [row[None]]])
            landmarks = np.vstack([landmarks, X[i]])
            with_it = self.kernel(X, X[i : i + 1]).astype(np.float64)[:, 0]
            new = (with_it - row_pairs(phi, phi[i : i + 1])[:, 0]) / length
            phi, left = np.column_stack([phi, new]), left - new**2
            left[i] = 0.0
        self.learnt_ = {"landmarks": landmarks, "root": root}


def _parse(text: object) -> tuple[str, Kernel, int]:
    """Return method, kernel and size."""
    return _read(text if isinstance(text, str) else repr(text))  # a file may hold anything


@functools.lru_cache
def _read(text: str) -> tuple[str, Kernel, int]:
    help_ = "write for example nystrom(rbf(1),200), fourier(rbf(1),200) or orthogonal(rbf(1),200)"
    name, given = as_call(as_syntax(text, "features of a kernel"), text)
    size = given[1].value if len(given) == 2 and isinstance(given[1], ast.Constant) else None
    if name not in METHODS or not isinstance(size, int):
        raise DataError(f"cannot read {text!r} as features of a kernel; {help_}")
    kernel = as_kernel(given[0], text)
    check_whole(f"the number of features in {text!r}", size)
    if name != "nystrom" and not isinstance(kernel, RBF):
        raise DataError(f"{name} features need an rbf kernel; found {kernel}: use nystrom")
    if name != "nystrom" and size % 2:
        raise DataError(
            f"{name} features come in pairs, so their number must be even; found {size}"
        )
    return name, kernel, size


def _gaussian(rng: np.random.Generator, n: int, d: int) -> NDArray[np.float64]:
    """Make normal random numbers from uniform ones, which are the same on every machine."""
    length = np.sqrt(-2 * log(1 - rng.random((n, d))))
    return np.asarray(length * cos(2 * np.pi * rng.random((n, d))))


def _orthogonal(rng: np.random.Generator, n: int, d: int) -> NDArray[np.float64]:
    """Draw orthogonal rows, d at a time, with the lengths of Gaussian ones."""
    parts = []
    for _ in range(-(-n // max(d, 1))):
        rows = _gaussian(rng, d, d)
        for _ in range(2):  # Gram and Schmidt; the second time mends what rounding left
            for i in range(d):
                if i:
                    rows[i] -= row_pairs(rows[:i].T, row_pairs(rows[i : i + 1], rows[:i]))[:, 0]
                rows[i] /= np.sqrt(dot(rows[i], rows[i]))
        parts.append(rows)
    draws = _gaussian(rng, n, d)
    lengths = np.sqrt(row_pairs(draws**2, np.ones((1, d)))[:, 0])
    return np.asarray(np.vstack([np.zeros((0, d)), *parts])[:n] * lengths[:, None])
