"""Promises of the design that no module shows by itself: directions, circles, sizes, loading."""

import ast
import importlib.util
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import parcast

ROOT = Path(parcast.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
DIRECTIONS = [  # a module imports from its own folder, and from folders above it in this list
    {"advice"},
    {"aliases", "errors", "places", "signals", "version"},
    {"needs"},
    {"units", "files", "queueing", "numerics"},
    {"expressions", "words", "mpi"},
    {"show"},
    {"descriptions", "timings", "benchmarking", "testbed"},
    {"laws", "instrument", "saved"},
    {"importers", "trials"},
    {"cli"},
    {"deciding", "validation"},  # find their subjects by place, which lie above them
    {"testing"},
    {"forecasting", "fitting", "calibration", "pipeline", "arrays"},
    {"applications", "kernels", "prediction"},
    {"characterisation", "measurement"},
    {"projection", "simulation", "templates"},
    {"deciding/"},  # its inner folders: subjects of its own, over laws and timings alike
    {"reports", "web"},
    {"__init__", "__main__"},
]
CIRCLES = [  # folders that import one another still; this list only gets shorter
]
RANK = {name: rank for rank, names in enumerate(DIRECTIONS) for name in names}
HEAVY = {
    "numpy",
    "scipy",
    "pydantic",
    "contourpy",
    "matplotlib",
    "pandas",
    "polars",
    "xarray",
    "rich",
    "mpi4py",
    "cloudpickle",
    "pyarrow",
    "nltk",
    "textblob",
}
MOST_LINES = 600  # of a module
MOST_CODE = 60  # lines of a function, without its docstring, comments and blank lines


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in FILES}
PROGRAMS = ("__main__", "parcast.mpi.tied")  # what they do is done when they are loaded
IMPORTABLE = [name for name in MODULES if not name.endswith(PROGRAMS)]


@cache
def tree_of(path: Path) -> ast.Module:
    """Parse a module once."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """Walk through a module once."""
    return [*ast.walk(tree_of(path))]


@cache
def imports_of(path: Path) -> frozenset[str]:
    """Every module of parcast that a module imports: in functions and for types as well."""
    found = set()
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name_of(path)} imports relatively; write the whole name"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return frozenset(found & MODULES.keys())


def folder_of(module: str) -> str:
    """Name the folder, or the module beside the folders, that a module lies in."""
    if place_of(module).startswith("deciding/"):
        return "deciding/"
    return module.split(".")[1] if "." in module else "__init__"


def test_imports_point_down():
    up = []
    for module, path in MODULES.items():
        here = folder_of(module)
        assert here in RANK, f"{here} has no place in the list of directions"
        below = {folder_of(there) for there in imports_of(path)} - {here}
        if here != "__init__":
            up += [f"{module} imports {there}" for there in below if RANK[there] >= RANK[here]]
    assert up == []


def place_of(module: str) -> str:
    """Name the folder of a module as a path below the package: "arrays/library"."""
    return MODULES[module].parent.relative_to(ROOT).as_posix()


def test_no_folders_import_one_another():
    below = {place_of(module): set() for module in MODULES}
    for module, path in MODULES.items():
        below[place_of(module)] |= {place_of(there) for there in imports_of(path)}
    del below["."]  # the public names, which load what they name when it is asked for
    for through, further in below.items():  # then all that a folder reaches by way of others
        for reached in below.values():
            if through in reached:
                reached.update(further)
    circles = {
        frozenset({here, *(there for there in reached if here in below.get(there, ()))})
        for here, reached in below.items()
    }
    assert {circle for circle in circles if len(circle) > 1} == set(map(frozenset, CIRCLES))


def test_the_name_of_a_class_means_one_thing():
    names = Counter(
        node.name for path in FILES for node in nodes_of(path) if isinstance(node, ast.ClassDef)
    )
    assert [name for name, uses in names.items() if uses > 1] == []


def test_no_imports_go_in_a_circle():
    graph = {module: imports_of(path) for module, path in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        pytest.fail(" <- ".join(circle.args[1]))


@pytest.mark.parametrize(
    "module",
    [
        "parcast",
        "parcast.cli",
        "parcast.errors",
        "parcast.instrument",
        "parcast.timings.profile",
        "parcast.pipeline.run, parcast.pipeline.engine.worker",
    ],
)
def test_what_every_command_or_rank_loads_is_not_heavy(module):
    show = [sys.executable, "-c", f"import {module}, sys; print(*sys.modules)"]
    loaded = subprocess.run(show, capture_output=True, text=True, check=True).stdout.split()
    assert not HEAVY & set(loaded)


def test_no_module_is_called_utils_or_misc():
    forbidden = {"utils", "util", "misc", "common", "helpers"}
    assert not forbidden & {path.stem for path in FILES}


def test_every_folder_says_what_lives_in_it():
    for folder in {path.parent for path in FILES}:
        assert ast.get_docstring(tree_of(folder / "__init__.py"))


def test_a_module_stays_readable_in_one_sitting():
    sizes = {name: len(path.read_text().splitlines()) for name, path in MODULES.items()}
    assert {name: lines for name, lines in sizes.items() if lines > MOST_LINES} == {}


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function on which something of its code stands."""
    _, *rest = function.body if ast.get_docstring(function) else (None, *function.body)
    whole = [*function.args.args, *function.args.kwonlyargs, *rest]
    lines = {
        line
        for node in whole
        for inner in ast.walk(node)
        if hasattr(inner, "lineno")
        for line in range(inner.lineno, inner.end_lineno + 1)
    }
    return len(lines | {function.lineno})


def test_a_function_fits_on_a_screen():
    long = {
        f"{name}.{node.name}": code_lines(node)
        for name, path in MODULES.items()
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if node.end_lineno - node.lineno >= MOST_CODE < code_lines(node)
    }
    assert long == {}


def test_public_names_come_with_a_star_and_stay_what_they_are_after_every_module_was_imported():
    code = (
        "from parcast import *\n"
        "starred = sorted(name for name in dir() if name[0] != '_')\n"
        "import importlib, parcast\n"
        "first = {name: getattr(parcast, name) for name in parcast.__all__}\n"
        f"for module in {IMPORTABLE}:\n"
        "    importlib.import_module(module)\n"
        "changed = [name for name in first if getattr(parcast, name) is not first[name]]\n"
        "called = [name for name in first if not callable(first[name])]\n"
        "print(starred == parcast.__all__, changed, called)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert answer.stdout.strip() == "True [] []", answer.stderr


def test_dir_shows_public_names_only():
    assert [n for n in dir(parcast) if not n.startswith("__")] == sorted(parcast.__all__)


A_PLACE = re.compile(r"""["'](parcast\.[\w.]+):(\w+)["']""")


def test_every_place_named_as_text_can_be_loaded():
    for path in FILES:
        for module, name in A_PLACE.findall(path.read_text(encoding="utf-8")):
            assert importlib.util.find_spec(module), f"{path.name}: {module}:{name}"
            assert hasattr(importlib.import_module(module), name), f"{module}:{name}"


OURS = {"ParameterError", "FitFailed", "RunFailed", "FileProblems", "DescriptionError"}
OURS |= {"ParcastError", "Exception"}


def texts_taken_apart(path):
    """Lines on which the text of one of our errors is looked into or rewritten."""
    for handler in nodes_of(path):
        if not isinstance(handler, ast.ExceptHandler) or handler.name is None:
            continue
        if not OURS & {x.id for x in ast.walk(handler.type) if isinstance(x, ast.Name)}:
            continue
        text = f"str({handler.name})"
        for node in ast.walk(handler):
            inner = []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                is_re = ast.unparse(node.func).startswith("re.")
                inner = [node.func.value, *(node.args if is_re else ())]
            elif isinstance(node, ast.Compare):
                inner = [node.left, *node.comparators]
            elif isinstance(node, ast.Subscript):
                inner = [node.value]
            if text in map(ast.unparse, inner):
                yield node.lineno


def test_nobody_takes_the_text_of_an_error_apart():
    found = {name: list(texts_taken_apart(path)) for name, path in MODULES.items()}
    assert {name: lines for name, lines in found.items() if lines} == {}


TAKEN_AWAY = {  # folders that could be, and what would go with them: others load them by place
    "applications": "parcast.applications",
    "pipeline/published": "parcast.pipeline.explaining",  # which draws it beside the default
}


@pytest.mark.parametrize(("folder", "with_it"), TAKEN_AWAY.items())
def test_what_could_be_taken_away_is_imported_by_nothing(folder, with_it):
    inside = f"parcast.{folder.replace('/', '.')}"
    users = {
        module
        for module, path in MODULES.items()
        if any(f"{there}.".startswith(f"{inside}.") for there in imports_of(path))
    }
    assert not [x for x in users - {"parcast"} if not f"{x}.".startswith((f"{inside}.", with_it))]


class Loaded(ast.NodeVisitor):
    """Modules that a module imports when it runs, in functions as well: not those of types."""

    def __init__(self, path: Path) -> None:
        self.names: set[str] = set()
        self.visit(tree_of(path))

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) != "TYPE_CHECKING":
            self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            self.names |= {inner if inner in MODULES else node.module} & MODULES.keys()


@pytest.mark.parametrize(("module", "most"), [("parcast.arrays.library.session", 60)])
def test_a_program_that_connects_to_servers_can_load_few_modules(module, most):
    loaded, further = set(), {module}
    while further:
        loaded |= further
        further = {name for each in further for name in Loaded(MODULES[each]).names} - loaded
    assert len(loaded) <= most, sorted(loaded)
    assert not [name for name in loaded if ".planning" in name or ".law." in name]
