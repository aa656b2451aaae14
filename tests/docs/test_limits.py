"""`docs/reference/limits.md` gives the limits that the code has, and all of them."""

import ast
import importlib
import re

import pytest

from parcast.files.bounds import as_size
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "reference" / "limits.md"
SOURCE = ROOT / "src" / "parcast"
READERS = [  # what turns files into what is computed with
    *(SOURCE / "files").glob("*.py"),
    *(SOURCE / "timings").glob("*.py"),
    *(SOURCE / "importers").glob("*.py"),
    *(SOURCE / "descriptions").glob("*.py"),
    *(SOURCE / "calibration" / "benchmarks").glob("*.py"),
]
LIMIT = re.compile(r"(LARGEST|LONGEST|MOST|DEEPEST)(_[A-Z]+)*")
NO_LIMITS = {  # of what is shown, and values that a quantity may have
    *("MOST_NAMED", "MOST_LISTED", "MOST_ALIKE", "MOST_LINES", "LONG_RUNS"),
    "parcast.importers.runs.LARGEST",
    "parcast.importers.reader_process.LONGEST_ANSWER",
    "parcast.timings.read_profiles.MOST_MISSING",
    "parcast.timings.series.MOST_SPREAD",
    "parcast.importers.axes.MOST_METRICS",
    "parcast.importers.caliper.MOST_RANKS",
    "parcast.calibration.benchmarks.message_tables.LARGEST",
    "parcast.calibration.benchmarks.ior.LARGEST",
    "parcast.calibration.benchmarks.machine_figures.LONGEST",
}
ROW = re.compile(r"^\| [^|]+ \| ([^|]+) \|.*\| `([\w.]+)` \|$", re.MULTILINE)
ROWS = [(place, said) for said, place in ROW.findall(PAGE.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("place", "said"), ROWS)
def test_a_limit_is_what_the_page_says(place, said):
    module, _, name = place.rpartition(".")
    value = getattr(importlib.import_module(module), name)
    forms = (f"{value:,}", f"{value:g}", as_size(value), f"{value / 2**20:g} MiB")
    assert said.startswith(tuple(f"{x} " for x in forms)) or said in forms


@pytest.mark.parametrize("path", READERS, ids=lambda path: path.stem)
def test_every_limit_of_a_reader_is_on_the_page(path):
    module = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
    names = {
        target.id
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        for target in (
            [node.target]
            if isinstance(node, ast.AnnAssign)
            else node.targets
            if isinstance(node, ast.Assign)
            else []
        )
        if isinstance(target, ast.Name) and LIMIT.fullmatch(target.id)
    }
    limits = {f"{module}.{name}" for name in names - NO_LIMITS} - NO_LIMITS
    assert limits <= {place for place, _ in ROWS}
