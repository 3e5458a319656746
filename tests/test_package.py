"""The package from outside: what it exports, how light it is, that its stubs tell the truth."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import rankloop

SOURCE = Path(rankloop.__file__).parent
SCRIPT = Path(__file__).parents[1] / "cpp" / "stubs.py"


def loaded_by(code: str) -> set[str]:
    command = f"import sys; {code}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def stubs():
    return [path.parent for path in SOURCE.rglob("__init__.pyi")]


@pytest.mark.parametrize("folder", stubs(), ids=lambda folder: folder.name)
def test_every_export_exists(folder):
    package = import_module(".".join(["rankloop", *folder.relative_to(SOURCE).parts]))
    tree = ast.parse((folder / "__init__.pyi").read_text())
    listed = {
        alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert set(package.__all__) == listed <= set(dir(package))
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = package.no_such_thing


def test_the_surface():
    """What a newcomer meets first; a new name has to earn its place here."""
    found = {name: getattr(rankloop, name) for name in rankloop.__all__}
    packages = {name for name, value in found.items() if isinstance(value, ModuleType)}
    assert packages == {
        *(
            "checks",
            "clicks",
            "client",
            "data",
            "distributed",
            "exceptions",
            "experiments",
            "export",
            "features",
            "feedback",
        ),
        *("rankers", "losses", "measures", "plotting", "theory"),
    }
    assert sorted(set(rankloop.__all__) - packages) == sorted(
        [
            "QueryDataset",
            "read",
            "write",
            "read_letor",
            "read_table",
            "from_table",
            "write_letor",
            "random_split",
            "k_folds",
            "summarise",
            "compute_features",
            "evaluate",
            "nDCG",
            "AP",
            "P",
            "RR",
            "ERR",
            "CONVENTIONS",
            "compare_runs",
            "explain",
            "explain_measure",
            "scorer",
            "Auto",
            "Blend",
            "Slam",
            "SolarI",
            "SolarII",
            "NewtonXENDCG",
            "RankSVM",
            "ListNet",
            "XENDCG",
            "LambdaMART",
            "XENDCGBoost",
            "Prepared",
            "Described",
            "Mix",
            "PDGD",
            "KeepRank",
            "KernelSlam",
            "Predtron",
            "make_ranker",
            "register_ranker",
            "load",
            "loads",
            "save",
            "stream",
            "compare",
            "tune",
            "write_report",
            "Ranking",
            "Feedback",
            "Judgement",
            "RankloopError",
            "DataError",
            "ModelError",
        ]
    )


def test_importing_the_package_loads_nothing_heavy():
    assert not loaded_by("import rankloop") & {"numpy", "scipy", "rich", "typer"}


HEAVY = {"scipy", "pyarrow", "pandas", "polars", "matplotlib", "sklearn", "lightgbm", "zstandard"}


def test_reading_and_measuring_loads_nothing_heavy():
    code = "import rankloop as rl; rl.read_letor, rl.evaluate, rl.QueryDataset, rl.compare_runs"
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


def test_the_stub_of_the_core_is_as_generated():
    """After a change in cpp/bind, `make stubs` writes it again."""
    pytest.importorskip("nanobind", minversion="2.4")
    if not SCRIPT.exists():
        pytest.skip("the package is installed without its sources")
    generated = runpy.run_path(str(SCRIPT))["generate"]()

    def statements(text):
        return sorted(map(ast.dump, ast.parse(text).body))

    assert statements((SOURCE / "_core.pyi").read_text()) == statements(generated)
