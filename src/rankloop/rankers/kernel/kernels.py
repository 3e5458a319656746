"""Kernels as values: `rbf(0.5)`, `poly(2)`, `rbf(1)*linear + chi2(1)`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop import _core
from rankloop._utils.arithmetic import row_pairs
from rankloop._utils.processors import threads
from rankloop.exceptions import DataError
from rankloop.rankers.parameters import check_number, check_whole

if TYPE_CHECKING:
    from rankloop.rankers.base import Rows


class Kernel(ABC):
    """A symmetric positive semi-definite function of two rows; values add and multiply.

    `kernel(X, Z)` is float32, with a row per row of X and a column per row of Z. Cost: O(n m d) by
    one matrix product, except chi-squared.
    """

    reads_back: ClassVar[bool] = True
    """Whether its text stands for it, as in model files."""

    @abstractmethod
    def __call__(self, X: Rows, Z: Rows) -> Rows:
        """Return the kernel of every row of X with every row of Z."""

    @abstractmethod
    def diagonal(self, X: Rows) -> Rows:
        """Return the kernel of every row with itself."""

    def check_rows(self, X: Rows) -> None:  # noqa: B027
        """Raise if the kernel is not defined on these rows."""

    def __add__(self, other: Kernel) -> Kernel:
        return Sum(self, other)

    def __mul__(self, other: Kernel) -> Kernel:
        return Product(self, other)


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = x.z.

    >>> str(Linear())
    'linear'
    """

    name: ClassVar[str] = "linear"

    def __call__(self, X: Rows, Z: Rows) -> Rows:
        """Return the products of rows."""
        return row_pairs(X, Z)

    def diagonal(self, X: Rows) -> Rows:
        """Return squared lengths."""
        return _core.squared_lengths(np.ascontiguousarray(X))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class RBF(Kernel):
    """k(x, z) = exp(-|x - z|^2 / (2 sigma2)), sigma2 above 0.

    >>> RBF(2.0)(np.zeros((1, 1), np.float32), np.array([[0.0], [2.0]], np.float32)).tolist()
    [[1.0, 0.3678794503211975]]
    """

    sigma2: float = 1.0
    name: ClassVar[str] = "rbf"

    def __post_init__(self) -> None:
        check_number("sigma2 of rbf", self.sigma2, above=True)

    def __call__(self, X: Rows, Z: Rows) -> Rows:
        """Return exp(-distance); rows are moved near 0 first, which does not change distances."""
        scale = float(np.sqrt(np.float32(1 / self.sigma2)))
        return _core.rbf_rows(np.ascontiguousarray(X), np.ascontiguousarray(Z), scale, threads())

    def diagonal(self, X: Rows) -> Rows:
        """Return ones."""
        return np.ones(len(X), np.float32)

    def __str__(self) -> str:
        return f"{self.name}({_number(self.sigma2)})"


@dataclass(frozen=True)
class Polynomial(Kernel):
    """k(x, z) = (scale x.z + offset)^degree, degree from 1, scale above 0, offset from 0.

    >>> str(Polynomial(2)), str(Polynomial(3, 0.5, 2.0))
    ('poly(2)', 'poly(3,0.5,2)')
    """

    degree: int = 2
    offset: float = 1.0
    scale: float = 1.0
    name: ClassVar[str] = "poly"

    def __post_init__(self) -> None:
        check_whole("degree of poly", self.degree)
        check_number("offset of poly", self.offset)
        check_number("scale of poly", self.scale, above=True)

    def __call__(self, X: Rows, Z: Rows) -> Rows:
        """Return powers of products."""
        return self._raise_power(row_pairs(X, Z))

    def diagonal(self, X: Rows) -> Rows:
        """Return powers of squared lengths."""
        return self._raise_power(Linear().diagonal(X))

    def _raise_power(self, products: Rows) -> Rows:
        """Return whole powers as products, by squaring."""
        base = np.float32(self.scale) * products + np.float32(self.offset)
        result = np.ones_like(base)
        for bit in reversed(range(self.degree.bit_length())):
            result *= result
            if self.degree >> bit & 1:
                result *= base
        return result

    def __str__(self) -> str:
        given = [self.degree, self.offset, self.scale]
        while len(given) > 1 and given[-1] == 1:
            given.pop()
        return f"{self.name}({','.join(map(_number, given))})"


@dataclass(frozen=True)
class ChiSquared(Kernel):
    """k(x, z) = exp(-gamma sum_j (x_j - z_j)^2 / (x_j + z_j)), for features from 0; gamma above 0.

    O(n m d) without a matrix product: a few times slower than the others.

    >>> str(ChiSquared(0.5))
    'chi2(0.5)'
    """

    gamma: float = 1.0
    name: ClassVar[str] = "chi2"

    def __post_init__(self) -> None:
        check_number("gamma of chi2", self.gamma, above=True)

    def check_rows(self, X: Rows) -> None:
        """Raise if a feature is below 0."""
        if X.size and X.min() < 0:
            raise DataError(
                f"the chi2 kernel needs features of at least 0; found {X.min():g}: scale "
                "them to 0..1 inside each query (query-minmax), or use another kernel"
            )

    def __call__(self, X: Rows, Z: Rows) -> Rows:
        """Return exp(-chi-squared distance)."""
        self.check_rows(X)
        self.check_rows(Z)
        return _core.chi_rows(
            np.ascontiguousarray(X), np.ascontiguousarray(Z), self.gamma, threads()
        )

    def diagonal(self, X: Rows) -> Rows:
        """Return ones."""
        return np.ones(len(X), np.float32)

    def __str__(self) -> str:
        return f"{self.name}({_number(self.gamma)})"


@dataclass(frozen=True)
class Sum(Kernel):
    """k(x, z) = left(x, z) + right(x, z)."""

    left: Kernel
    right: Kernel

    def __call__(self, X: Rows, Z: Rows) -> Rows:
        """Return sums."""
        return np.asarray(self.left(X, Z) + self.right(X, Z))

    def diagonal(self, X: Rows) -> Rows:
        """Return sums."""
        return np.asarray(self.left.diagonal(X) + self.right.diagonal(X))

    def check_rows(self, X: Rows) -> None:
        """Raise if either is not defined."""
        self.left.check_rows(X)
        self.right.check_rows(X)

    def __str__(self) -> str:
        return f"{self.left}+{_within(self.right, Sum)}"


@dataclass(frozen=True)
class Product(Kernel):
    """k(x, z) = left(x, z) right(x, z)."""

    left: Kernel
    right: Kernel

    def __call__(self, X: Rows, Z: Rows) -> Rows:
        """Return products."""
        K = self.left(X, Z)
        K *= self.right(X, Z)
        return K

    def diagonal(self, X: Rows) -> Rows:
        """Return products."""
        return np.asarray(self.left.diagonal(X) * self.right.diagonal(X))

    def check_rows(self, X: Rows) -> None:
        """Raise if either is not defined."""
        self.left.check_rows(X)
        self.right.check_rows(X)

    def __str__(self) -> str:
        return f"{_within(self.left, Sum)}*{_within(self.right, Sum, Product)}"


def _within(kernel: Kernel, *kinds: type[Kernel]) -> str:
    """Return the text of a part, in brackets if they are needed."""
    return f"({kernel})" if isinstance(kernel, kinds) else str(kernel)


def _number(value: float) -> str:
    """Return the text of a number: 2 for 2.0."""
    return repr(int(value)) if value == int(value) else repr(float(value))
