"""`parcast.prediction.best_processors` against all counts, closed forms, and bad input."""

from pathlib import Path

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.prediction.best_processors import best_processors
from parcast.prediction.predict import predict

COSTS = Path(__file__).parents[2] / "examples" / "arrays" / "sp2_like.toml"
MACHINE = Machine(
    compute={"rate": "10 Mflop/s"},
    network={"bandwidth": "100 MB/s", "latency": "10 us"},
    storage={"bandwidth": "10 MB/s", "servers": 2},
)


@pytest.mark.parametrize(
    "law", ["sort", "square_sort", "sample_sort", "fractal", "matmul", "gauss"]
)
def test_it_is_the_best_of_all_counts(law):
    program = Program(phase=[{"law": law}])
    found = best_processors(program, MACHINE, n=1000, upto=1000)
    every = predict(program, MACHINE, p=np.arange(1, 1001), n=1000).time[:, 0]
    assert found.p == int(np.argmin(every)) + 1
    assert (found.time, found.alone) == (every.min(), every[0])


@pytest.mark.parametrize("upto", [10_000, 10**8, 2**40])
def test_among_many_counts_it_is_near_the_closed_form(upto):
    program = Program(phase=[{"law": "matmul", "capacities": {"latency": "0 s"}}])
    found = best_processors(program, MACHINE, n=1e13, upto=upto)
    expected = min((1e13 * 1e8 / (8 * 1e7)) ** 0.5, upto)  # sqrt(alpha*n*u/(beta*W))
    assert found.p == pytest.approx(expected, rel=1e-3)
    exact = predict(program, MACHINE, p=[found.p - 1, found.p], n=1e13).time[:, 0]
    assert exact[1] <= exact[0] * (1 + 1e-12)


JAGGED = [
    {
        "law": "spmd",
        "compute": {"parallel": "1e4 s"},
        "communication": {"messages": "ceil(1e4 / p) + ceil(p / 1e3)", "startup": "1 ms"},
    },
    {
        "law": "spmd",
        "compute": {"parallel": "1e4 s"},
        "communication": {"messages": "min(2, p - 1) + ceil(log2(p))", "volume": "1 kB * log2(p)"},
    },
]


@pytest.mark.parametrize("phase", JAGGED, ids=["meshes", "rounds"])
def test_a_larger_upto_is_never_slower_however_jagged_the_time(phase):
    program = Program(phase=[phase])
    least = np.inf
    for upto in [*range(9_990, 10_020, 6), *(int(10_030 * 1.3**i) for i in range(20))]:
        found = best_processors(program, MACHINE, upto=upto)
        assert found.time <= least
        assert found.p <= found.upto <= upto
        least = found.time


def test_a_larger_upto_is_never_slower_with_array_io():
    io = {"law": "array_io", "shape": [32, 32], "dtype": "float64", "costs": COSTS}
    compute = {"parallel": "1000 s"}
    program = Program(
        phase=[{"law": "spmd", "compute": compute, "io": io | {"operation": "read"}}]
    )
    uptos = [100, 250, 256, 257, 300, 301, 550, 700, 1024, 1030, 1500, 4000]
    found = [best_processors(program, MACHINE, upto=upto) for upto in uptos]
    assert (np.diff([x.time for x in found]) <= 0).all()
    assert [x.upto for x in found[:4]] == [100, 250, 256, 256]
