"""Predictions: grids, speedups, intervals, bounds, what is said of them, and refusals."""

from pathlib import Path

import numpy as np
import pytest

from parcast.deciding.explain.explain import explain
from parcast.descriptions.machine import ComputeNode, Machine, Price, Storage
from parcast.descriptions.program import LAWS, Program
from parcast.descriptions.toml_files import read_machine, read_program
from parcast.errors import ParameterError
from parcast.prediction.best_processors import best_processors
from parcast.prediction.predict import predict
from parcast.show.warning import Rank

MACHINE = Machine(
    name="a cluster",
    processors=64,
    compute={"rate": "100 Mflop/s"},
    network={"latency": "10 us", "bandwidth": "100 MB/s", "saturation": "400 MB/s"},
    storage={"servers": 2, "bandwidth": "50 MB/s"},
)


def program(**keys):
    phase = {
        "law": "spmd",
        "cycles": 10,
        "bursts_per_io": 4,
        "compute": {"parallel": "800 Mflop", "serial": "1 Mflop"},
        "communication": {"messages": "4", "volume": "2 MB / sqrt(p)"},
        "io": {"volume": "20 MB"},
        **keys,
    }
    return Program(name="solver", phase=[phase])


def test_every_combination_of_the_axes_has_a_time():
    told = predict(program(), MACHINE, p=[1, 2, 4, 8], d=[1, 2], n=[5.0, 6, 7])
    assert told.shape == told.time.shape == told.speedup.shape == (4, 2, 3)
    assert list(told.axes) == ["p", "d", "n"]
    rows = list(told.rows())
    assert len(rows) == 24
    assert [rows[i]["p"] for i in (0, 6, 23)] == [1, 2, 8]
    assert rows[7]["time_s"] == told.time[1, 0, 1]
    parts = sum(rows[5][f"{x}_s"] for x in ("compute", "communication", "io", "synchronisation"))
    assert parts == pytest.approx(rows[5]["time_s"])


def test_speedup_is_over_one_processor_and_one_disk():
    told = predict(program(), MACHINE, p=[1, 8], d=[1, 4])
    np.testing.assert_allclose(told.speedup, told.time[0, 0] / told.time)
    np.testing.assert_allclose(told.efficiency, told.speedup / [[1], [8]])
    assert told.scaling == "strong"


def test_a_machine_with_a_price_has_costs_of_whole_nodes():
    price = Price(node_hour="36 +- 10%", currency="EUR")
    machine = MACHINE.model_copy(update={"price": price, "node": ComputeNode(processors=4)})
    told = predict(program(), machine, p=[1, 4, 5])
    np.testing.assert_allclose(told.cost, told.time * np.array([1, 1, 2]) / 100)
    ends = np.log(told.upper / told.time), np.log(told.cost_upper / told.cost)
    np.testing.assert_allclose(ends[1], np.hypot(ends[0], np.log(1.1)))
    row = next(told.rows())
    assert (row["cost"], row["cost_lower"]) == (told.cost[0], told.cost_lower[0])
    assert told.to_document()["currency"] == "EUR"
    assert "[EUR]" in str(told)
    certain = predict(program(), machine, p=[1, 4], law_error=False)
    np.testing.assert_allclose(certain.cost_upper / certain.cost, 1.1)
    assert "cost" not in next(predict(program(), MACHINE, p=1).rows())


def test_work_that_grows_with_p_makes_scaling_weak():
    grown = program(compute={"parallel": "800 Mflop * p"}, communication={}, io={})
    told = predict(grown, MACHINE, p=[1, 4])
    assert told.scaling == "weak"
    np.testing.assert_allclose(told.efficiency, 1)


def test_bounds_enclose_the_time():
    told = predict(program(), MACHINE, p=[1, 4, 64])
    assert np.all(told.contention_free <= told.time)
    assert np.all(told.time <= told.single_bus * (1 + 1e-12))
    assert told.contention_free[2] < told.single_bus[2]
    without = predict(program(), MACHINE, p=[1, 4], bounds=False)
    assert without.contention_free is None
    assert next(without.rows())["single_bus_s"] is None


def uncertain(spread):
    work = {"parallel": f"8 s +- {spread}"}
    return Program(phase=[{"law": "spmd", "compute": work}])


def test_uncertain_parameters_give_an_interval():
    told = predict(uncertain("10%"), Machine(), p=[1, 4], law_error=False)
    assert told.interval == 0.9
    # The time is proportional to the only uncertain parameter, whose law is lognormal.
    np.testing.assert_allclose(told.upper / told.time, 1.1, rtol=3e-3)
    np.testing.assert_allclose(told.time / told.lower, 1.1, rtol=3e-3)
    assert predict(uncertain("10%"), Machine(), p=1, interval=False).lower is None
    assert predict(program(), MACHINE, p=1, law_error=False).interval is None


def test_a_parameter_that_is_varied_is_certain():
    told = predict(
        uncertain("10%"), Machine(), p=1, vary={"compute.parallel": [1.0, 2.0]}, law_error=False
    )
    assert told.lower is None


def test_the_interval_is_the_same_again_and_in_parts(monkeypatch):
    first = predict(uncertain("10%"), Machine(), p=[1, 2, 4])
    monkeypatch.setattr("parcast.prediction.predict.POINTS_AT_ONCE", 7)
    again = predict(uncertain("10%"), Machine(), p=[1, 2, 4])
    np.testing.assert_array_equal(first.upper, again.upper)
    other = predict(uncertain("10%"), Machine(), p=[1, 2, 4], seed=1)
    assert np.all(other.upper != first.upper) or np.allclose(other.upper, first.upper, rtol=1e-2)


def test_it_says_what_limits_and_where_that_changes():
    told = predict(program(), MACHINE, p=[1, 4, 16, 64, 256, 1024], d=[2])
    assert told.limited_by[0, 0] == "compute"
    (said,) = told.limits
    assert said.startswith("computing, then I/O from p = 154, then communication from p = 167 (")
    explained = explain(program(), MACHINE, p=1024, d=2).limiting
    assert [(x.p, x.resource) for x in explained[1:]] == [(154, "io"), (167, "communication")]
    saved = told.elasticity["communication"][-1, 0]
    assert said.endswith(f"(1% faster saves {saved:.2g}% at p = 1024)")
    many = predict(program(), MACHINE, p=[1, 64], d=np.arange(1, 10))
    assert [text[:6] for text in many.limits] == ["d = 1:", "d = 9:"]


def test_an_interval_of_too_many_points_is_refused():
    with pytest.raises(ParameterError, match="Use fewer points, or set interval=False"):
        predict(uncertain("10%"), Machine(), p=np.arange(1, 1001), d=np.arange(1, 1001))


def test_a_time_of_nothing_is_refused_with_its_place():
    with pytest.raises(ParameterError, match=r"the time must be above 0 and finite, got 0 s at p"):
        predict(program(cycles="p - 1"), MACHINE, p=[2, 1])


def test_a_reference_without_a_time_is_named():
    work = {"serial": "1 s * sqrt(p - 2)"}
    with pytest.raises(ParameterError, match="needs the time on one processor and one disk"):
        predict(Program(phase=[{"law": "spmd", "compute": work}]), Machine(), p=[4])


@pytest.mark.parametrize("given", [{"n": 1e200}, {"n": 1e-200}, {"p": [2**60]}])
def test_counts_and_sizes_whose_times_overflow_are_refused(given):
    with pytest.raises(ParameterError, match=r"^[np] must"):
        predict(program(), MACHINE, **{"p": [1]} | given)


def test_an_amount_whose_times_overflow_is_refused():
    with pytest.raises(ParameterError, match=r"cycles must be at most 1e\+30, got 1e\+308\."):
        predict(program(cycles="1e308"), MACHINE, p=[1])
    with pytest.raises(ParameterError, match=r"network.bandwidth must be at most 1e\+30 B/s"):
        predict(program(), MACHINE, p=[1], vary={"network.bandwidth": [1e9, 1e300]})


PRODUCT = Program(phase=[{"law": "matmul"}])
CLUSTER = Machine(compute={"rate": "10 Mflop/s"}, network={"bandwidth": "100 MB/s"})


def test_it_says_with_how_many_processors_time_is_least():
    told = predict(PRODUCT, CLUSTER, p=[64, 1, 32, 16], n=1000)
    assert told.fastest == ("p = 35 (5.74 s); a larger p is slower",)
    assert told.to_document()["fastest"] == list(told.fastest)
    assert "fastest     p = 35 (5.74 s)" in str(told)


def test_the_fastest_of_those_asked_for_is_told_where_the_law_has_no_answer_between():
    at_squares = "1 s * (p/16 + 16/p) / floor(1 - abs(sqrt(p) - floor(sqrt(p))))"
    program = Program(phase=[{"law": "spmd", "compute": {"serial": at_squares}}])
    told = predict(program, Machine(), p=[4, 16, 64], bounds=False)
    assert told.fastest == ("p = 16 (2 s); a larger p is slower",)


def test_a_parameter_that_the_program_overrules_is_named():
    own = {"law": "matmul", "capacities": {"compute": "1 Gop/s", "network": "1 GB/s"}}
    told = predict(Program(phase=[own]), CLUSTER, p=4, n=100, vary={"compute.rate": [1e9, 2e9]})
    assert told.warnings[0] == (
        "No time depends on compute.rate. The program's own capacities.compute, "
        "capacities.network may override it: vary that instead."
    )


def test_a_parameter_that_nothing_asks_for_is_named():
    disks = CLUSTER.model_copy(update={"storage": Storage(bandwidth="1 GB/s")})
    told = predict(PRODUCT, disks, p=[1, 4], n=100, vary={"storage.bandwidth": [1e9, 2e9]})
    assert told.warnings == ("No time depends on storage.bandwidth.",)


def test_a_warning_of_every_phase_is_given_once_and_that_of_one_names_it():
    sends = {"law": "spmd", "compute": {"parallel": "8 s"}, "communication": {"volume": "1 MB"}}
    machine = Machine(network={"bandwidth": "10 MB/s"})
    both = Program(phase=[sends | {"name": "a"}, sends | {"name": "b"}])
    (warning,) = predict(both, machine, p=[1, 2], interval=False).warnings
    assert warning.startswith("No contention in the network is assumed")
    one = Program(phase=[sends | {"name": "a"}, {"law": "amdahl", "t1": "1 s", "serial": 0}])
    (warning,) = predict(one, machine, p=[1, 2], interval=False).warnings
    assert warning.startswith("a: No contention in the network is assumed")
    assert (warning.kind, warning.rank) == (warning, Rank.PLAIN)


def test_files_are_read_where_descriptions_are_taken():
    files = Path(__file__).parents[2] / "examples" / "btio"
    own, machine = files / "program.toml", files / "sp2.toml"
    told = predict(own, str(machine), p=[1, 4], d=3)
    read = predict(read_program(own), read_machine(machine), p=[1, 4], d=3)
    assert told.time.tolist() == read.time.tolist()
    assert (
        best_processors(own, machine, upto=64).p
        == best_processors(read_program(own), read_machine(machine), upto=64).p
    )


REGIONS = Program(
    phase=[
        {
            "law": "regions",
            "region": [
                {"kind": "loop", "iterations": 1000, "iteration": "1 us"},
                {"kind": "allreduce", "volume": "8 B"},
            ],
        }
    ]
)
TWO_CORES = {
    "name": "vm",
    "processors": 2,
    "network": {"latency": "1 us", "bandwidth": "1 GB/s"},
    "primitives": {"allreduce": {"startup": "1 us if p <= 2 else 500 us", "bandwidth": "1 GB/s"}},
}


def said_of(program, p, **keys):
    told = predict(program, Machine(**TWO_CORES, **keys), p=p)
    return [text for text in told.warnings if "more ranks than cores" in text]


def test_a_machine_measured_with_more_ranks_than_cores_says_so():
    (said,) = said_of(REGIONS, [2, 4], oversubscribed_from=3)
    assert said == (
        "vm was measured with more ranks than cores from p = 3 on, where ranks took turns on a "
        "core. These times do not apply to a machine with a core for each rank: predict up to "
        "p = 2, or calibrate where more cores are."
    )
    assert said.rank == Rank.SERIOUS
    told = predict(REGIONS, Machine(**TWO_CORES, oversubscribed_from=3), p=[2, 4])
    assert not any("assume a larger machine" in text for text in told.warnings)


@pytest.mark.parametrize(
    ("io", "keys", "most"),
    [
        ("synchronous", {}, "1,000,000"),
        ("striped", {}, "400,000"),
        ("clustered", {}, "100,000"),
        ("striped", {"cycles": "10 + p"}, "2,500"),
    ],
)
def test_more_points_than_take_some_seconds_are_refused(io, keys, most):
    tables = {"compute": {"parallel": "1 s"}, "io": {"kind": io, "transfer": "1 s"}}
    dear = Program(phase=[{"law": "spmd", "cycles": 10} | tables | keys])
    with pytest.raises(ParameterError, match=f"the grid must have at most {most} points of"):
        predict(dear, Machine(), p=np.arange(1, 1_000_002))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((MACHINE, MACHINE), "program must be a Program, got Machine. Give the path of"),
        ((None, MACHINE), "its file, or build it with parcast.Program(...)."),
        ((program(), {}), "machine must be a Machine, got dict"),
    ],
)
def test_what_is_no_description_is_refused(given, message):
    with pytest.raises(ParameterError) as refusal:
        predict(*given, p=4)
    assert message in str(refusal.value)


NODED = Machine(
    name="noded",
    compute={"rate": "1 Gflop/s"},
    network={"bandwidth": "1 GB/s", "saturation": "2 GB/s"},
    storage={"bandwidth": "1 GB/s"},
    node={
        "processors": 4,
        "memory_bandwidth": "20 GB/s",
        "network_bandwidth": "1 GB/s",
        "message_bandwidth": "5 GB/s",
    },
)
LOOP = {"kind": "loop", "iterations": 100, "iteration": "90 Mflop"}
LINK = "node.network_bandwidth and node.message_bandwidth"
OF_RATES = {  # laws whose times follow rates of the machine, their keys, and what they ignore
    "regions": ({"region": [LOOP, {"kind": "halo", "volume": "1 MB"}]}, "all"),
    "pipeline": ({"items": 99, "task": "1 s", "merge": "10 ms", "message": "20 kB"}, LINK),
    "fractal": ({}, "all"),
    "monte_carlo": ({}, "all"),
    **dict.fromkeys(("sort", "square_sort", "sample_sort"), ({}, "all")),
    **dict.fromkeys(("matmul", "gauss", "stencil"), ({}, "all")),
}
OF_OWN_TIMES = {
    "merge_sort": {"capacities": {"compute": "5 Mflop/s", "disk": "2 MB/s"}},
    "gustafson": {"time": "10 s", "serial": "5%"},
    "amdahl": {"t1": "12 s", "serial": "5%"},
    **{key: {"shared": "9 s", "growing": "1 s"} for key in ("logarithmic", "linear", "quadratic")},
    "usl": {"t1": "12 s", "contention": 0.05, "coherency": 1e-4},
    "power": {"t1": "12 s", "exponent": 0.8},
}


def ignored_of(law, keys, p=16):
    told = predict(Program(phase=[{"law": law, **keys}]), NODED, p=p, n=256, bounds=False)
    return [text for text in told.warnings if "no effect" in text]


@pytest.mark.parametrize("law", OF_RATES)
def test_a_law_that_ignores_what_a_node_shares_says_so_once(law):
    keys, ignored = OF_RATES[law]
    [said] = ignored_of(law, keys)
    ignored = f"node.memory_bandwidth, {LINK}" if ignored == "all" else ignored
    assert said.startswith(f"{ignored} have no effect: the law {law} does not know")
    assert ignored_of(law, keys, p=1) == []


@pytest.mark.parametrize("law", OF_OWN_TIMES)
def test_a_law_of_own_times_has_nothing_to_ignore(law):
    assert ignored_of(law, OF_OWN_TIMES[law]) == []


def test_every_law_is_asked_about_nodes():
    known = {"spmd", "counted"}  # the one heeds them; the other is in tests/projection
    assert set(OF_RATES) | set(OF_OWN_TIMES) == set(LAWS) - known
    assert ignored_of("spmd", {"compute": {"parallel": "1 Gflop"}}) == []
