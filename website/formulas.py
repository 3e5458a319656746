"""Formulas as our docstrings write them, in plain text, as MathML, which browsers can show.

The notation: `x_i`, `x_{i j}`, `2^R`, `L^-1`, `sum_i`, `sqrt(x)`, Greek letters by name, `<=`.
"""

from __future__ import annotations

import html
import re
from unicodedata import lookup

LETTERS = ("alpha", "beta", "gamma", "delta", "epsilon", "eta", "phi", "pi", "rho", "sigma", "tau")
GREEK = {name: lookup(f"GREEK SMALL LETTER {name}") for name in LETTERS}
GREEK |= {"eps": GREEK["epsilon"], "lambda": lookup("GREEK SMALL LETTER LAMDA")}
MINUS = lookup("MINUS SIGN")
SIGNS = {
    "sum": lookup("N-ARY SUMMATION"),
    "<=": lookup("LESS-THAN OR EQUAL TO"),
    ">=": lookup("GREATER-THAN OR EQUAL TO"),
    "-": MINUS,
    "-=": f"{MINUS}=",
    "*": lookup("MIDDLE DOT"),
    "'": lookup("PRIME"),
    "~": lookup("TILDE OPERATOR"),
}
TOKEN = re.compile(r"\d+(?:\.\d+)?|[A-Za-z][A-Za-z0-9]*|\+=|-=|<=|>=|\.\.\.|[_^{}()\[\]<>|]|\s+|.")
CODE = re.compile(r"[├│└@]|\bdef |;\s*$|^\s*(?:int|[$#])")


def is_formula(lines: list[str]) -> bool:
    """Whether an indented block is a formula, and not code or a drawing.

    >>> is_formula(["w += tau delta"]), is_formula(["def test():"]), is_formula(["├── DataError"])
    (True, False, False)
    """
    return not any(CODE.search(line) for line in lines)


def typeset(lines: list[str]) -> str:
    """Return a block of formulas, a line each."""
    shown = "".join(f"<div>{''.join(map(part, re.split(' {2,}', line)))}</div>" for line in lines)
    return f'<div class="formula" markdown="0">{shown}</div>'


def part(text: str) -> str:
    """Return one formula of a line; a line may hold several, two blanks apart.

    >>> part("v_i^2 <= 1")
    '<math><msup><msub><mi>v</mi><mi>i</mi></msub><mn>2</mn></msup><mo>≤</mo><mn>1</mn></math>'
    """
    return f"<math>{''.join(Reader(text).row())}</math>"


class Reader:
    """Reads a formula from left to right."""

    def __init__(self, text: str) -> None:
        self.tokens = TOKEN.findall(text.strip())
        self.place = 0

    def peek(self) -> str:
        """Return the next token, or nothing at the end."""
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self) -> str:
        """Return the next token and go on."""
        self.place += 1
        return self.tokens[self.place - 1]

    def row(self, end: str = "") -> list[str]:
        """Read up to a closing sign."""
        parts: list[str] = []
        while self.peek() and self.peek() != end:
            parts.append(self.add_scripts())
        if self.peek():
            self.take()
        return [part for part in parts if part]

    def add_scripts(self) -> str:
        """Read an atom, and what stands below or above it."""
        base = self.atom()
        while self.peek() in ("_", "^") and base:
            tag = "msub" if self.take() == "_" else "msup"
            base = f"<{tag}>{base}{self.script()}</{tag}>"
        return base

    def script(self) -> str:
        """Read a subscript or a power: one atom with its own scripts, a number, or a group."""
        if self.peek() == "-":
            self.take()
            return f"<mrow><mo>{MINUS}</mo>{self.atom()}</mrow>"
        base = self.atom()
        if self.peek() == "_":  # 2^R_i
            self.take()
            base = f"<msub>{base}{self.atom()}</msub>"
        return base

    def atom(self) -> str:
        """Read a number, a letter, a word, a sign or a group."""
        token = self.take()
        if token == "{":
            return f"<mrow>{''.join(self.row('}'))}</mrow>"
        if token == "(":
            return f"<mrow><mo>(</mo>{''.join(self.row(')'))}<mo>)</mo></mrow>"
        if token == "sqrt" and self.peek() == "(":
            self.take()
            return f"<msqrt>{''.join(self.row(')'))}</msqrt>"
        if token.isspace():
            return '<mspace width="0.25em"/>' if self.between_names() else ""
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token in GREEK:
            return f"<mi>{GREEK[token]}</mi>"
        if token[0].isalpha() and token not in SIGNS:
            return f"<mi>{token}</mi>"  # browsers slant single letters only
        return f"<mo>{html.escape(SIGNS.get(token, token))}</mo>"

    def between_names(self) -> bool:
        """Whether the blank just taken parts two names or groups, and not a sign from them."""
        before, after = self.tokens[self.place - 2][-1], self.peek()[:1]
        return (before.isalnum() or before in ")}]'|") and (after.isalnum() or after in "([|")
