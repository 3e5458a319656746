"""The package from outside: what it exports, how light it is, that its stubs tell the truth."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rankloop
from rankloop import _core

SOURCE = Path(rankloop.__file__).parent


def loaded_by(code: str) -> set[str]:
    command = f"import sys; {code}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_every_export_exists():
    for name in rankloop.__all__:
        assert getattr(rankloop, name) is not None
    assert set(rankloop.__all__) <= set(dir(rankloop))
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = rankloop.no_such_thing


def test_exports_are_typed():
    """What is loaded lazily is also imported for type checkers."""
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    typed = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rankloop")
        for alias in node.names
    }
    assert typed == set(rankloop.__all__)


def test_importing_the_package_loads_nothing_heavy():
    assert not loaded_by("import rankloop") & {"numpy", "scipy", "rich", "typer"}


HEAVY = {"scipy", "pyarrow", "pandas", "polars", "matplotlib", "sklearn", "lightgbm", "zstandard"}


def test_reading_and_measuring_loads_nothing_heavy():
    code = "import rankloop as rl; rl.read_letor, rl.evaluate, rl.QueryDataset, rl.compare"
    assert not loaded_by(code) & (HEAVY | {"rich", "typer"})


def test_help_loads_no_numpy():
    code = (
        "import rankloop.cli as c; sys.argv = ['rankloop', '--help']\n"
        "try: c.main()\nexcept SystemExit: pass\nprint()"
    )
    command = f"import sys\n{code}\nprint('modules:', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    modules = set(done.stdout.split("modules:")[1].split())
    assert "inspect" in done.stdout
    assert not modules & (HEAVY | {"numpy"})


def stub_functions():
    tree = ast.parse((SOURCE / "_core.pyi").read_text())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node.args
        elif isinstance(node, ast.ClassDef) and node.name in vars(_core):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and not inner.decorator_list:
                    yield f"{node.name}.{inner.name}", inner.args


@pytest.mark.parametrize(
    ("name", "arguments"), [pytest.param(*f, id=f[0]) for f in stub_functions()]
)
def test_stubs_name_the_arguments(name, arguments):
    function = _core
    for part in name.split("."):
        function = getattr(function, part)
    for signature, *_ in function.__nb_signature__:
        while "[" in signature:  # types aside
            signature = re.sub(r"\[[^\[\]]*\]", "", signature)
        real = re.findall(r"[(,] ?(\w+)(?=[:,)=])", signature)
        expected = [a.arg for a in [*arguments.args, *arguments.kwonlyargs]]
        assert real == expected, signature


def test_the_core_has_stubs_for_everything():
    public = {name for name in vars(_core) if not name.startswith("_")}
    tree = ast.parse((SOURCE / "_core.pyi").read_text())
    described = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        or (isinstance(node, ast.ClassDef) and "TypedDict" not in map(ast.unparse, node.bases))
    }
    assert public == described
