"""`parcast.laws.independent_inputs`: published values, their own laws, bad input."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.descriptions.machine import Machine
from parcast.laws.independent_inputs import FractalPhase, MonteCarloPhase
from tests.laws.counting import fractal_counts, monte_carlo_counts
from tests.laws.published import reference_rows

FIGURE = {"alpha": 32000, "beta": 8}


def fractal_efficiency(p, *, compute, network, alpha, beta):
    """Efficiency by (4.4), where messages start at no cost."""
    return 1 / (1 + beta * p * compute / (alpha * network))


@pytest.mark.parametrize("row", reference_rows("fractal_efficiency.csv"), ids=str)
def test_efficiency_is_that_of_the_reference(row):
    p, w = float(row["p"]), float(row["W"])
    found = fractal_efficiency(p, compute=w, network=100e6, **FIGURE)
    assert f"{float(found):.4f}" == row["efficiency"]
    own = {"compute": f"{w} flop/s", "network": "100 MB/s"}
    one, many = (
        FractalPhase(law="fractal", capacities=own).times(Machine(), {"p": [1.0, p], "n": 1e6})
    ).time
    assert f"{one / many / p:.4f}" == row["efficiency"]


@given(n=st.floats(100, 1e15), slices=st.integers(1, 1000), p=st.integers(2, 100))
def test_speedup_depends_neither_on_n_nor_on_slices(n, slices, p):
    own = {"compute": "101 Mflop/s", "network": "100 MB/s"}
    phase = MonteCarloPhase(law="monte_carlo", capacities=own, slices=slices, **text(FIGURE))
    one, many = phase.times(Machine(), {"p": [1.0, p], "n": n}).time
    expected = fractal_efficiency(p, compute=101e6, network=100e6, **FIGURE)
    assert one / many / p == pytest.approx(float(expected))


def text(densities):
    return {"alpha": str(densities["alpha"]), "beta": f"{densities['beta']} B"}


@given(n=st.integers(64, 10**9), p=st.integers(2, 64))
def test_a_master_sends_each_other_processor_its_part_and_gets_it_back(n, p):
    assert float(fractal_counts(n, p).messages) == 2 * (p - 1)
    assert float(monte_carlo_counts(n, p, slices=3).messages) == 6 * (p - 1)
    assert float(fractal_counts(n, 1).messages) == 0
