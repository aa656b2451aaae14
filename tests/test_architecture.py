"""The promises of the design that a reader cannot see in one module: layers and light imports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import parcast

ROOT = Path(parcast.__file__).parent
LAYERS = [  # a module may import its own layer and those above it in this list
    {"errors", "units", "expressions", "amounts", "places", "plugins", "law_names"},
    {
        *("description", "machine", "program", "breakdown", "prediction", "simulation_result"),
        *("measurements", "columns", "series", "elsewhere", "text", "result", "fit_result"),
        *("match_result", "counted_result", "calibration_result", "validation_result"),
        *("profile", "instrument", "characterise_result"),
    },
    {"queueing"},
    {"models"},
    {"run"},
    {"verbs"},
    {"io", "plot", "report"},
    {"cli", "web", "__main__"},
]
EXCEPTIONS = {  # plot() of a result is a shorthand that loads the drawing when it is called
    ("result", "plot"),
    ("prediction", "plot"),
    ("match_result", "plot"),
    ("validation_result", "plot"),
}
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
HEAVY = {
    "numpy",
    "scipy",
    "pydantic",
    "matplotlib",
    "pandas",
    "polars",
    "xarray",
    "rich",
    "mpi4py",
}


def imported_from_parcast(tree: ast.AST) -> set[str]:
    """Every part of parcast that a module imports, wherever in it the import stands."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "parcast":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("parcast."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("parcast.")}
    return found


@pytest.mark.parametrize(
    "path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT))
)
def test_imports_point_down_the_layers(path):
    here = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if here == "__init__":
        return
    assert here in RANK, f"{here} has no place in the list of layers"
    for there in imported_from_parcast(ast.parse(path.read_text(encoding="utf-8"))):
        if there.startswith("__") or (here, there) in EXCEPTIONS:
            continue
        assert there in RANK, f"{path.name} imports parcast.{there}, which is in no layer"
        assert RANK[there] <= RANK[here], f"{path.name} imports parcast.{there}"


@pytest.mark.parametrize(
    "module",
    ["parcast", "parcast.cli", "parcast.errors", "parcast.instrument", "parcast.timings.profile"],
)
def test_what_every_command_loads_is_not_heavy(module):
    show = [sys.executable, "-c", f"import {module}, sys; print(*sys.modules)"]
    loaded = subprocess.run(show, capture_output=True, text=True, check=True).stdout.split()
    assert not HEAVY & set(loaded)


def test_no_module_is_called_utils_or_misc():
    forbidden = {"utils", "util", "misc", "common", "helpers"}
    assert not forbidden & {path.stem for path in ROOT.rglob("*.py")}


@pytest.mark.parametrize(
    "path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT))
)
def test_a_module_stays_readable_in_one_sitting(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
