"""`parcast.laws.regions`: its equations, its laws, its place among the laws, and bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.laws.regions import RegionsPhase
from parcast.prediction.predict import predict

NETWORK = Machine(
    name="net", network={"latency": "10 us", "bandwidth": "1 GB/s"}, compute={"rate": "1 Gflop/s"}
)
counts = st.integers(1, 10**6)


def phase(*regions, **keys):
    return RegionsPhase(law="regions", region=list(regions), **keys)


@pytest.mark.parametrize(("p", "most"), [(1, 100), (2, 50), (3, 34), (7, 15), (100, 1), (101, 1)])
def test_a_loop_takes_the_time_of_the_processor_with_the_most_iterations(p, most):
    loop = phase({"kind": "loop", "iterations": 100, "iteration": "10 ms"})
    assert float(loop.times(NETWORK, {"p": [p]}).compute[0]) == pytest.approx(0.01 * most)


@given(p=counts, iterations=counts)
def test_a_loop_is_never_faster_than_its_share_nor_slower_than_one_more_iteration(p, iterations):
    loop = phase({"kind": "loop", "iterations": iterations, "iteration": "1 s"})
    time = float(loop.times(NETWORK, {"p": [float(p)]}).time[0])
    assert iterations / p * (1 - 1e-9) <= time < iterations / p + 1


def test_regions_add_up_and_are_told_apart():
    loop = {"kind": "loop", "name": "sweep", "iterations": 64, "iteration": "1 Mflop"}
    send = {"kind": "broadcast", "calls": 3, "volume": "1 MB"}
    at = {"p": np.array([1.0, 8.0])}
    told = phase(loop, send, cycles=2).times(NETWORK, at)
    assert told.compute == pytest.approx([2 * 64e-3, 2 * 8e-3])
    assert told.communication == pytest.approx([0, 2 * 3 * 3 * (1e-5 + 1e-3)])
    one_by_one = [phase(x, cycles=2).times(NETWORK, at).time for x in (loop, send)]
    assert told.time == pytest.approx(sum(one_by_one))


def test_an_array_is_answered_as_its_elements_are():
    program = Program(
        phase=[
            phase(
                {"kind": "loop", "iterations": "n^2", "iteration": "1 us"},
                {"kind": "allreduce", "volume": "8 B * n"},
            )
        ]
    )
    p, n = [1, 3, 64], [10, 100]
    table = predict(program, NETWORK, p=p, n=n).time
    for i, j in np.ndindex(3, 2):
        assert table[i, j] == predict(program, NETWORK, p=p[i], n=n[j]).time


def test_amounts_are_named_by_their_region_varied_and_uncertain():
    loop = {"kind": "loop", "name": "sweep", "iterations": 10, "iteration": "1 s +- 10%"}
    program = Program(phase=[phase(loop, {"kind": "replicated", "iteration": "2 s"})])
    assert {"sweep.iteration", "region 2.iteration", "cycles"} <= program.parameters().keys()
    told = predict(program, NETWORK, p=[1, 10], law_error=False)
    assert told.interval == 0.9
    assert told.lower[0] == pytest.approx(10 / 1.1 + 2, rel=0.01)
    varied = predict(program, NETWORK, p=1, vary={"sweep.iteration": [1.0, 2.0]})
    assert varied.time.tolist() == [[12.0, 22.0]]


def test_speedup_is_of_the_work_where_it_grows_with_p():
    weak = Program(phase=[phase({"kind": "loop", "iterations": "100*p", "iteration": "1 s"})])
    told = predict(weak, NETWORK, p=[1, 16])
    assert told.scaling == "weak"
    assert told.efficiency == pytest.approx([1, 1])


def test_primitives_without_figures_are_told():
    sends = phase({"kind": "reduce", "volume": "1 kB"}, {"kind": "replicated", "iteration": "1 s"})
    (said,) = sends.warnings(NETWORK)
    assert said.startswith("net has no [primitives] for reduce: their times are estimated")
    measured = Machine(primitives={"reduce": {"startup": "1 us*log2(p)", "bandwidth": "1 MB/s"}})
    assert list(sends.warnings(measured)) == []
    told = sends.times(measured, {"p": [1.0, 4]}).communication
    assert told == pytest.approx([0, 2e-6 + 1e-3])


@pytest.mark.parametrize(
    ("region", "says"),
    [
        ({"kind": "loop"}, "region 1  must give iteration if its kind is loop or replicated."),
        ({"kind": "send", "iteration": "1 s"}, "must not give iteration if its kind is send."),
        ({"kind": "loop", "iteration": "1 s", "volume": "1 B"}, "must not give volume if"),
        ({"kind": "bcast"}, "'halo', 'write' or 'read', got 'bcast'."),
        ({"kind": "send", "volum": "1 B"}, "1, volum  is not a known key. Did you mean vol"),
    ],
)
def test_a_region_that_makes_no_sense_is_refused(region, says, refusal):
    assert says in refusal(ParameterError, phase, region)


def test_a_list_that_is_none_and_names_that_are_twice_are_refused():
    with pytest.raises(ParameterError, match="must be a list of tables, at least one"):
        phase()
    same = {"kind": "replicated", "name": "a", "iteration": "1 s"}
    with pytest.raises(ParameterError, match='different names, got "a" twice'):
        phase(same, same)


def test_work_is_that_of_a_lone_processor_whose_rate_may_be_higher():
    loop = {"kind": "loop", "iterations": 1024, "iteration": "1 Mflop"}
    machine = Machine(compute={"rate": "1 Gflop/s / (1 + (p-1)/16)"})
    found = predict(Program(phase=[{"law": "regions", "region": [loop]}]), machine, p=[1, 16])
    assert found.time == pytest.approx([1.024, 64e6 * 1.9375 / 1e9])
    assert found.efficiency == pytest.approx([1.0, 1.024 / 0.124 / 16])
