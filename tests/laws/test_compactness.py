"""`parcast.laws.compactness`: the test, and what a prediction says of superlinear speedup."""

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program, law_named
from parcast.errors import ParameterError
from parcast.laws.compactness import compactness, superlinear_warnings
from parcast.prediction.predict import predict

CLUSTER = Machine(
    compute={"rate": "10 Mflop/s"},
    network={"bandwidth": "100 MB/s"},
    storage={"bandwidth": "10 MB/s"},
)


@pytest.mark.parametrize(
    ("solution", "verification", "epsilon", "is_compact"),
    [
        ("n^2", "n", 1.0, False),
        ("n * log2(n)", "n", 0.01, True),
        ("n", "n", 0.0, True),
        ("n^3", "n^2", 1.0, False),
        ("1000 * n", "n", 0.0, True),
        ("n^1.5", "n * log2(n)", 0.49, False),
        ("n", "n^2", -1.0, True),
        ("2^n", "n", np.inf, False),
        ("n", "2^n", -np.inf, True),
    ],
)
def test_an_algorithm_is_compact_where_finding_costs_no_power_more(
    solution, verification, epsilon, is_compact
):
    found = compactness(solution, verification)
    assert found.epsilon == pytest.approx(epsilon, abs=0.011)
    assert found.is_compact is is_compact
    assert str(found).startswith("compact" if is_compact else "not compact")


@pytest.mark.parametrize(
    ("solution", "verification", "says"),
    [
        ("0 * n", "n", 'solution must be above 0 for large n, got "0 * n". Write for example'),
        ("n", "-n", 'verification must be above 0 for large n, got "-n". Write for example'),
        ("2^n", "3^n", "solution and verification must not both grow faster than any power"),
        ("p", "n", 'solution must use known names, got "p"'),
        ("log2(-n)", "n", "solution must be finite: log2(-n) is nan"),
    ],
)
def test_a_formula_that_does_not_do_is_refused(solution, verification, says, refusal):
    assert refusal(ParameterError, compactness, solution, verification).startswith(says)


def test_laws_know_whether_they_are_compact():
    compact = {x: law_named(x).is_compact for x in ("sort", "square_sort", "matmul", "spmd")}
    assert compact == {"sort": True, "square_sort": False, "matmul": True, "spmd": None}


def told_of(law, **keys):
    return predict(Program(phase=[{"law": law, **keys}]), CLUSTER, p=[1, 2, 5], n=40_000)


def test_superlinear_speedup_of_a_poor_program_may_be_real():
    (warning,) = told_of("square_sort").warnings
    assert warning.startswith("Speedup is above p: ")
    assert "p = 5. This may be real, as the algorithm is not search-space compact." in warning
    assert "A better sequential program would remove the advantage" in warning


def test_superlinear_speedup_of_a_compact_algorithm_is_doubted():
    (warning,) = told_of("fractal", capacities={"compute": "1 Mflop/s * p"}).warnings
    assert warning == (
        "Speedup is above p: 25 at p = 5. No parallel version of this algorithm needs fewer "
        "steps (it is search-space compact). Check what else grows with p: caches, disks, rates "
        "that are formulas in p, or a slow sequential run."
    )


def test_the_point_that_is_named_is_that_with_most_speedup_a_processor():
    program = Program(phase=[{"law": "sort"}])
    [said] = superlinear_warnings(program, np.array([2.0, 3.0, 8.0]), np.array([2.5, 6.0, 9.0]))
    assert said.startswith("Speedup is above p: 6 at p = 3.")
    assert not list(superlinear_warnings(program, np.array([2.0]), np.array([2.0])))
