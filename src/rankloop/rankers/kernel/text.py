"""Reading kernels, and feature maps of kernels, from short text."""

from __future__ import annotations

import ast

from rankloop.exceptions import DataError
from rankloop.rankers.kernel.kernels import RBF, ChiSquared, Kernel, Linear, Polynomial

KERNELS: dict[str, type[Kernel]] = {
    kernel.name: kernel for kernel in (Linear, RBF, Polynomial, ChiSquared)
}
"""Every kernel by its name."""


def parse_kernel(text: str | Kernel) -> Kernel:
    """Read a kernel from the text that it prints; a kernel is returned unchanged.

    >>> parse_kernel("rbf(0.5)*linear + poly(2)")
    Sum(left=Product(left=RBF(sigma2=0.5), right=Linear()), right=Polynomial(degree=2, \
offset=1.0, scale=1.0))
    >>> str(parse_kernel(" ( linear + rbf ) * chi2(2) "))
    '(linear+rbf(1))*chi2(2)'
    """
    if isinstance(text, Kernel):
        return text
    return as_kernel(as_syntax(text, "a kernel"), text)


def as_syntax(text: str, what: str) -> ast.expr:
    """Parse text such as `rbf(0.5)` without running it."""
    try:
        tree: ast.Expression = ast.parse(text.strip(), mode="eval")
    except (AttributeError, SyntaxError, ValueError, MemoryError, RecursionError):
        raise DataError(f"cannot read {text!r} as {what}; {_HELP}") from None
    return tree.body


def as_kernel(node: ast.expr, text: str) -> Kernel:
    """Return the kernel of an expression."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return as_kernel(node.left, text) + as_kernel(node.right, text)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return as_kernel(node.left, text) * as_kernel(node.right, text)
    name, given = as_call(node, text)
    if name not in KERNELS:
        raise DataError(f"unknown kernel {name!r} in {text!r}; known: {', '.join(KERNELS)}")
    values = [_number(value, text) for value in given]
    try:
        return KERNELS[name](*values)
    except TypeError:
        raise DataError(f"too many numbers for {name} in {text!r}; {_HELP}") from None


def as_call(node: ast.expr, text: str) -> tuple[str, list[ast.expr]]:
    """Return the name and the arguments of `name` or `name(a,b)`."""
    if isinstance(node, ast.Name):
        return node.id, []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return node.func.id, node.args
    raise DataError(f"cannot read {text!r}; {_HELP}")


def _number(node: ast.expr, text: str) -> float:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        value = None
    if not isinstance(value, int | float):
        raise DataError(f"cannot read {text!r}: {ast.unparse(node)!r} is not a number; {_HELP}")
    return value


_HELP = "write for example linear, rbf(0.5), poly(2), chi2(1), rbf(1)*linear or rbf(1)+poly(2)"
