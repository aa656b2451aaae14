"""The laws that count: published speedups, what they have in common, and bad input."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program, law_named
from parcast.errors import ParameterError
from parcast.prediction.predict import predict
from tests.laws.counting import counts_of
from tests.laws.published import reference_rows

LAWS = [
    "sort",
    "square_sort",
    "sample_sort",
    "fractal",
    "monte_carlo",
    "matmul",
    "gauss",
    "stencil",
]
COUNTS = {law: partial(counts_of, law) for law in LAWS}
MACHINE = Machine(
    compute={"rate": "10 Mflop/s"},
    network={"bandwidth": "50 MB/s", "saturation": "100 MB/s"},
    storage={"bandwidth": "10 MB/s", "servers": 4},
)


def phase_of(law, **keys):
    return law_named(law)(law=law, **keys)


def times(law, machine=MACHINE, *, p, n, **keys):
    at = {"p": np.asarray(p, dtype=float), "n": np.asarray(n, dtype=float), "d": 1.0}
    return phase_of(law, **keys).times(machine, at)


def rates(row):
    own = {"compute": f"{row['W']} flop/s", "network": f"{row['u']} B/s"}
    return own | ({"disk": f"{row['B']} B/s"} if row["B"] else {})


@pytest.mark.parametrize("row", reference_rows("steady_state_speedups.csv"), ids=str)
def test_speedups_are_those_of_the_reference_to_three_decimals(row):
    program = Program(phase=[{"law": row["law"], "capacities": rates(row)}])
    told = predict(program, Machine(), p=[1, int(row["p"])], n=float(row["n"]))
    assert f"{told.speedup[1, 0]:.3f}" == row["speedup"]


@pytest.mark.parametrize("law", COUNTS)
@given(
    n=st.lists(st.integers(10, 10**6), min_size=1, max_size=4),
    p=st.lists(st.integers(1, 10), min_size=1, max_size=4),
)
def test_a_grid_is_answered_as_its_points_are(law, n, p):
    together = COUNTS[law](np.array(n)[None], np.array(p)[:, None])
    for i, count in enumerate(p):
        for j, size in enumerate(n):
            one = COUNTS[law](size, count)
            for name in ("steps", "network_bytes", "messages"):
                grid = np.broadcast_to(getattr(together, name), (len(p), len(n)))
                assert grid[i, j] == float(getattr(one, name))


@pytest.mark.parametrize("law", COUNTS)
def test_one_processor_runs_the_sequential_program(law):
    counts = COUNTS[law](1000, 1)
    assert counts.network_bytes == counts.messages == 0
    assert counts.shared == counts.steps


@pytest.mark.parametrize("law", COUNTS)
@given(n=st.integers(10**6, 10**18), p=st.integers(1, 10**6))
def test_huge_sizes_and_counts_have_finite_counts(law, n, p):
    counts = COUNTS[law](float(n), float(p))
    for name in ("steps", "network_bytes", "messages"):
        assert 0 <= getattr(counts, name) < np.inf


@pytest.mark.parametrize("law", [*COUNTS, "merge_sort"])
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"n": 0}, "n must be at least 1, got 0. Count inputs from 1."),
        ({"n": np.nan}, "n must be at least 1, got nan. Count inputs from 1."),
        ({"n": np.inf}, "n must be at least 1, got inf. Count inputs from 1."),
    ],
)
def test_a_size_that_is_none_is_refused(law, bad, says, refusal):
    assert refusal(ParameterError, phase_of(law).counts, **{"n": 8, "p": 1} | bad) == says


@pytest.mark.parametrize("law", COUNTS)
@pytest.mark.parametrize(
    ("p", "says"),
    [
        (0.5, "p must be at least 1, got 0.5. Count processors from 1."),
        (np.inf, "p must be at least 1, got inf. Count processors from 1."),
        ([2, np.nan], "p must be at least 1, got nan. Count processors from 1."),
        ([2, 9], "p must be at most n, got 9. At most n processors have work ("),
    ],
)
def test_a_count_outside_the_domain_is_refused(law, p, says, refusal):
    assert refusal(ParameterError, COUNTS[law], 8, p).startswith(says)


def test_the_rate_of_all_pairs_counts_and_that_of_one_pair_where_it_is_not_known():
    pair = Machine(compute={"rate": "1 Mflop/s"}, network={"bandwidth": "50 MB/s"})
    both = float(times("fractal", p=4, n=1e6).communication)
    assert float(times("fractal", pair, p=4, n=1e6).communication) == 2 * both
    at = {"p": 4.0, "n": 1e6, "network.saturation": 25e6}
    assert float(phase_of("fractal").times(pair, at).communication) == 4 * both


def test_capacities_of_the_phase_win():
    own = {"compute": "20 Mflop/s", "network": "200 MB/s", "disk": "40 MB/s", "latency": "1 s"}
    found = times("sort", p=4, n=1e6, capacities=own)
    machines = times("sort", p=4, n=1e6)
    assert float(found.compute) == float(machines.compute) / 2
    assert float(found.communication) == float(machines.communication) / 2 + 6.0
    assert float(found.io) == float(machines.io) / 4


def test_messages_start_at_the_latency_of_the_machine_unless_the_phase_says_otherwise():
    slow = Machine(
        compute={"rate": "1 Mflop/s"}, network={"bandwidth": "50 MB/s", "latency": "1 ms"}
    )
    none = times("gauss", slow, p=4, n=100, capacities={"latency": "0 s"})
    some = times("gauss", slow, p=4, n=100)
    assert some.communication - none.communication == pytest.approx(0.001 * 99 * 6)
    own = times("gauss", slow, p=[1, 4], n=100, messages="7 * p")
    assert own.communication - [0, none.communication] == pytest.approx([0, 0.028])
    at = {"p": 4.0, "n": 100.0, "network.latency": 1.0}
    assert phase_of("gauss").times(MACHINE, at).communication > 99 * 6


def test_disks_that_work_at_once_share_the_bytes():
    one = times("sort", p=[1, 4], n=1e6).io
    each = times("sort", p=[1, 4], n=1e6, disks="p").io
    assert each.tolist() == [one, one / 4]


def test_unequal_processors_share_the_work_by_their_rates():
    # 10 and 30 Mflop/s: the slowest counts for what is not dealt out.
    own = {"compute": "10 Mflop/s", "together": "10 Mflop/s + 30 Mflop/s * (p - 1)"}
    unequal = times("fractal", p=[1, 2, 3], n=1e6, capacities=own).compute
    assert unequal == pytest.approx(3.2e10 / np.array([1e7, 4e7, 7e7]))
    counts = counts_of("sort", 1000, 2)
    found = float(times("sort", p=2, n=1000, capacities=own).compute)
    rest = float(counts.steps - counts.shared)
    assert found == pytest.approx(rest / 1e7 + float(counts.shared) * 2 / 4e7)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"capacities": {"compute": "0 flop/s"}}, "capacities.compute must be above 0, got 0."),
        ({"capacities": {"network": "0 B/s * p"}}, "capacities.network must be above 0, got 0."),
        ({"capacities": {"together": "0 flop/s"}}, "capacities.together must be above 0, got 0."),
        ({"disks": "p - 2"}, "disks must be above 0, got 0. Leave it out if there is one."),
    ],
)
def test_a_capacity_of_nothing_is_refused(keys, says, refusal):
    assert refusal(ParameterError, times, "sort", p=2, n=100, **keys).startswith(says)


def test_what_is_not_needed_need_not_be_given(refusal):
    bare = Machine(compute={"rate": "1 Mflop/s"})
    assert float(times("matmul", bare, p=1, n=100).time) == 1.0
    assert refusal(ParameterError, times, "matmul", bare, p=2, n=100) == (
        "network.bandwidth must be given in the description of a machine: "
        'law = "matmul" needs it. Add it to [network].'
    )


def test_a_size_may_be_a_formula_and_grow_with_the_processors():
    grown = Program(phase=[{"law": "fractal", "size": "1000 * p", "beta": "0 B"}])
    told = predict(grown, MACHINE, p=[1, 10, 100])
    assert told.scaling == "weak"
    assert told.speedup.tolist() == pytest.approx([1, 10, 100])


def test_scaled_speedup_is_of_the_work_as_one_processor_does_it():
    keys = {"size": "1000 * p", "beta": "0 B", "capacities": {"compute": "1 Mflop/s * p"}}
    told = predict(Program(phase=[{"law": "fractal", **keys}]), MACHINE, p=[1, 10])
    assert told.speedup.tolist() == pytest.approx([1, 100])


def test_an_uncertain_density_becomes_an_interval_of_the_time():
    program = Program(phase=[{"law": "fractal", "alpha": "32000 +- 10%"}])
    told = predict(program, MACHINE, p=[1], n=1e4, law_error=False)
    assert told.lower[0, 0] == pytest.approx(told.time[0, 0] / 1.1, rel=0.02)
    assert told.upper[0, 0] == pytest.approx(told.time[0, 0] * 1.1, rel=0.02)


@pytest.mark.parametrize("p", [8, 64])
def test_a_saturated_bus_takes_what_the_spmd_law_says(p):
    # Where the network is busy all the time, both are the bytes over its rate.
    machine = Machine(
        compute={"rate": "1 Tflop/s"}, network={"bandwidth": "10 MB/s", "contention": 1}
    )
    bytes_of_all = {"volume": "100 MB / p", "variability": "none"}
    spmd = Program(
        phase=[{"law": "spmd", "compute": {"parallel": "1 Mflop"}, "communication": bytes_of_all}]
    )
    fractal = Program(phase=[{"law": "fractal", "alpha": 0.1, "beta": "100 B", "size": 1e6}])
    both = [float(predict(x, machine, p=[p]).time[0]) for x in (spmd, fractal)]
    assert both == pytest.approx([10.0, 10.0], rel=0.01)
