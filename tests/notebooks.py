"""Run notebooks without a server: `python -m tests.notebooks FILE...` writes their outputs anew."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path


def run(notebook: dict) -> list[list[dict]]:
    """Run the cells of a notebook, and return the outputs of each cell of code."""
    names: dict = {}
    return [
        run_cell("".join(cell["source"]), names)
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def run_cell(code: str, names: dict) -> list[dict]:
    """Run a cell; return what it prints, and its last value as text and HTML."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs = []
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines})
    if value is not None:
        shown = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            shown["text/html"] = [value._repr_html_()]
        outputs.append(
            {
                "output_type": "execute_result",
                "execution_count": None,
                "metadata": {},
                "data": shown,
            }
        )
    return outputs


def write(path: Path) -> None:
    """Put the outputs of a run into a notebook."""
    notebook = json.loads(path.read_text())
    code = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    for cell, outputs in zip(code, run(notebook), strict=True):
        cell["outputs"] = outputs
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write(Path(name))
