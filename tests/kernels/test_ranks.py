"""The programs on 3 and on 4 ranks: correct, and with the counts that their laws have."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from parcast.descriptions.program import phase_of
from parcast.kernels import gauss
from parcast.kernels.kernel import KernelRun
from parcast.kernels.ledger import Alone
from parcast.kernels.registry import COUNTED, kernel_named
from parcast.mpi.launcher import run_ranks
from parcast.saved.fields import object_of
from tests.kernels.every_kernel import SIZES

HERE = Path(__file__).parent
COUNTS = (3, 4)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What came out on each count of ranks: one launch for each."""
    found = {}
    for p in COUNTS:
        folder = tmp_path_factory.mktemp("ranks")
        files = folder / "files"
        files.mkdir()
        run_ranks(
            "every_kernel",
            [str(folder / "told.json"), str(files)],
            ranks=p,
            time_limit=120.0,
            environment={"PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])},
        )
        found[p] = json.loads((folder / "told.json").read_text(encoding="utf-8"))
        assert list(files.iterdir()) == []  # nothing of the sorters is left
    return found


@pytest.fixture(scope="module")
def runs(told):
    """All runs, by program, ranks and size."""
    every = [object_of(KernelRun, x) for p in COUNTS for x in told[p]["runs"]]
    return {(run.kernel, run.p, run.n): run for run in every}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("p", COUNTS)
def test_results_are_those_of_one_processor(runs, name, p):
    for n in SIZES[name]:  # among them 0, 1, and fewer than there are ranks
        assert runs[name, p, n].is_correct is True
        assert len(runs[name, p, n].steps) == p


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("p", COUNTS)
def test_counts_are_those_of_the_law(runs, name, p):
    n = SIZES[name][-1]
    run = runs[name, p, n]
    phase = phase_of(kernel_named(name).phase)
    law = phase.counts(float(n), float(p), {"n": float(n), "p": float(p)})
    # Whole rows, and whole blocks of paths, are dealt out: 3001 paths are 6 blocks.
    tolerance = {"fractal": 0.1, "monte_carlo": 0.4}.get(name, 0.06)
    assert max(run.steps) == pytest.approx(float(law.steps), rel=tolerance)
    if name == "gauss":  # a tree: the law counts what one after the other waits for
        levels = np.ceil(np.log2(p))
        assert sum(run.messages) == (n - 1) * (p - 1)
        assert float(law.messages) == (n - 1) * levels
        assert sum(run.sent) / (p - 1) * levels == pytest.approx(float(law.network_bytes))
        return
    if name == "sample_sort":  # likewise: all send at once, splitters go by a tree
        assert sum(run.messages) == 2 * (p - 1) * (p + 1)
        assert float(law.messages) == 3 * (p - 1) + np.ceil(np.log2(p))
    else:
        assert sum(run.messages) == float(law.messages)
    sent = pytest.approx(float(law.network_bytes), rel=0.25 if name == "monte_carlo" else 0.01)
    assert sum(run.sent) == sent
    assert run.disk_bytes == float(law.disk_bytes)


def test_every_rank_refuses_a_matrix_that_cannot_be_eliminated(told):
    for p in COUNTS:
        assert len(set(told[p]["singular"])) == 1
        assert (
            "The matrix is singular: row 5 depends on the rows above it." in told[p]["singular"][0]
        )
        assert len(set(told[p]["spoilt"])) == 1
        assert "Row 3 of the matrix has entries that are not finite" in told[p]["spoilt"][0]


def test_a_wrong_result_is_found(told):
    assert [told[p]["wrong"] for p in COUNTS] == [False, False]


def test_the_solution_is_the_same_on_any_ranks(told):
    expected = gauss.serial(30, 1)
    for p in COUNTS:
        np.testing.assert_allclose(told[p]["solution"], expected, rtol=1e-9)


def test_the_tests_cover_every_program_that_a_law_of_shi_has():
    assert set(SIZES) == set(COUNTED) - {"stencil"}
    for name in SIZES:
        kernel = kernel_named(name)
        assert kernel.run(Alone(), kernel.tiny, check=False).is_correct is None
