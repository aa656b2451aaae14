"""`parcast.simulate`: the referee of every family of the SPMD law, its own laws, and refusals."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from parcast.descriptions.breakdown import COMPONENTS
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Phase, Program
from parcast.errors import ParameterError
from parcast.laws.spmd.demands import burst_of, io_service
from parcast.queueing.two_queues import two_queues
from parcast.simulation import spmd as simulate_spmd
from parcast.simulation.simulate import simulate
from parcast.simulation.spmd import uniform

MACHINE = Machine(name="gort")
LONG = 10**6  # cycles: the long run is simulated


def phase(kind="synchronous", *, compute=None, communication=None, io=None, **keys):
    """A program that waits for processors, network and disks alike."""
    given = {
        "law": "spmd",
        "compute": {"parallel": "7.6 s", "serial": "0.4 s", "variability": "exponential"},
        "communication": {"startup": "0.01 s", "transfer": "0.5 s / sqrt(p)", "contention": 0.3},
        "io": {"kind": kind, "startup": "0.05 s", "transfer": "8 s"},
    }
    changes = {"compute": compute, "communication": communication, "io": io}
    for name, change in changes.items():
        given[name] |= change or {}
    return given | keys


def program(*args, **keys):
    return Program(name="lu", phase=[phase(*args, **keys)])


def off(told):
    """How far the law is outside the interval of the simulation, over its time."""
    beyond = np.maximum(told.predicted - told.upper, told.lower - told.predicted)
    return np.maximum(beyond, 0.0) / told.time


# the referee: (what is simulated, p, how wrong the law may be beside the interval)
REFEREED = [
    ("geometric, n = 20", program(bursts="geometric", bursts_per_io=20), [4, 16], 0.01),
    ("geometric, n = 5", program(bursts="geometric", bursts_per_io=5), [4, 16], 0.02),
    ("geometric, n = 1", program(bursts="geometric"), [4, 16], 0.05),
    (
        "geometric, in groups",
        program(bursts="geometric", bursts_per_io=20, communication={"group": 4}),
        [8, 16],
        0.015,
    ),
    ("fixed", program(bursts_per_io=5), [1, 4, 16], 0.015),
    ("fixed, in groups", program(bursts_per_io=5, communication={"group": 4}), [8, 64], 0.015),
    ("fixed, alike", program(bursts_per_io=50, compute={"variability": 0.1}), [4, 16], 0.015),
    ("striped", program("striped", cycles=LONG), [4, 64], 0.005),
    (
        "striped, in groups",
        program("striped", bursts_per_io=5, communication={"group": 4}, cycles=LONG),
        [4, 32],
        0.005,
    ),
    (
        "striped, processors alike",
        program("striped", bursts_per_io=5, compute={"variability": "none"}, cycles=LONG),
        [16],
        0.005,
    ),
    ("clustered", program("clustered", bursts_per_io=2, cycles=LONG), [4, 16], 0.005),
    (
        "clustered, in groups",
        program("clustered", communication={"group": 4}, cycles=LONG),
        [16, 32],
        0.005,
    ),
]


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize(("what", "of", "p", "wrong"), REFEREED, ids=[row[0] for row in REFEREED])
def test_the_law_agrees_with_the_simulation(what, of, p, wrong):
    told = simulate(of, MACHINE, p=p, d=4 if "clustered" in what else 1, seed=11)
    assert (off(told) <= wrong).all()
    assert (told.reached <= 0.01).all()


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize(
    ("variability", "p"),
    [*((law, [4, 16]) for law in ("none", "exponential", 2)), (0.3, [4, 16, 64])],
)
def test_one_queue_of_any_service_agrees(variability, p):
    network = {"startup": "0 s", "contention": 1, "variability": variability}
    alone = {**phase("striped", communication=network, cycles=LONG), "io": {"kind": "striped"}}
    told = simulate(Program(phase=[alone]), MACHINE, p=p, seed=5, precision=0.02)
    assert (off(told) <= 0.005).all()


def test_groups_are_the_customers_and_processors_are_not():
    groups = {"group": "min(p, 8)"}
    of = program("striped", bursts_per_io=5, communication=groups, cycles=LONG)
    told = simulate(of, MACHINE, p=64, d=4, seed=1)
    assert told.time[0, 0] / LONG == pytest.approx(7.83, rel=0.01)
    assert told.predicted[0, 0] / LONG == pytest.approx(7.824, rel=1e-3)
    demand = of.phase[0].demands(MACHINE, {"p": 64.0, "d": 4.0})
    delay, io = burst_of(of.phase[0], demand).delay, io_service(of.phase[0], demand)
    network = two_queues(64, delay=5 * delay, x=5 * demand.queue, y=io)
    assert 64 / network.throughput == pytest.approx(19.2, rel=1e-3)


def unequal(p, d, w, disk, cycles, *, precision=0.003):
    """Each group has its disk to share, and all share the network with the level w."""
    given = {
        "law": "spmd",
        "cycles": cycles,
        "compute": {"parallel": "1 s * p", "variability": "exponential"},
        "communication": {"transfer": "0.2 s", "contention": w},
        "io": {"kind": "clustered", "transfer": f"{disk} s * p"},
    }
    return simulate(Program(phase=[given]), MACHINE, p=p, d=d, seed=3, precision=precision)


def test_unequal_clusters_take_as_long_as_the_largest_if_the_network_is_free():
    told = unequal(6, 4, w=0.05, disk=1, cycles=200)
    assert "part of a run" not in " ".join(told.simulated)
    assert abs(told.difference[0, 0]) < 0.01


def test_unequal_clusters_are_a_little_faster_once_the_others_leave_them_a_busy_network():
    told = unequal(33, 16, w=1, disk=2, cycles=100, precision=0.006)
    assert 0.0 < told.difference[0, 0] < 0.04
    alone = unequal(17, 8, w=0.05, disk=1, cycles=100, precision=0.006)
    assert abs(alone.difference[0, 0]) < 0.04


RUNS = [
    (program("striped", cycles=20, io={"transfer": "1 s"}), 16, 1),
    (program("striped", cycles=20, compute={"variability": 0.5}, io={"transfer": "1 s"}), 8, 4),
    (program("striped", cycles=50, bursts="geometric", bursts_per_io=4), 8, 1),
    (program("clustered", cycles=20, bursts_per_io=2), 24, 4),
    (program("clustered", cycles=50, communication={"group": 4}), 32, 2),
    (program("clustered", cycles=50, bursts_per_io=3, io={"transfer": "40 s"}), 16, 8),
]


@pytest.mark.parametrize(("of", "p", "d"), RUNS)
def test_runs_of_twenty_cycles_and_more_are_as_long_as_the_law_says(of, p, d):
    told = simulate(of, MACHINE, p=p, d=d, seed=4, precision=0.005)
    cycles = of.phase[0].cycles({"p": p})
    long_run = of.phase[0].cycle(MACHINE, {"p": p, "d": d}).time * cycles
    assert (off(told) <= 0.015).all()
    assert (long_run < 0.985 * told.time).all()


# its own laws


def test_parts_add_up_to_the_time_and_none_is_negative():
    for kind in ("synchronous", "striped", "clustered"):
        for cycles in (3, LONG):
            told = simulate(
                program(kind, bursts_per_io=2, communication={"group": 2}, cycles=cycles),
                MACHINE,
                p=[2, 8],
                d=2,
                precision=0.05,
            )
            parts = dict(told.breakdown.components())
            assert all((parts[name] >= 0).all() for name in COMPONENTS)
            np.testing.assert_allclose(sum(parts.values()), told.time, rtol=1e-12)
            assert ((told.lower < told.time) & (told.time < told.upper)).all()


def test_what_does_not_vary_is_exact():
    none = {"variability": "none"}
    of = program(compute=none, communication=none, io=none, bursts_per_io=3, cycles=7, name="x")
    told = simulate(of, MACHINE, p=[1, 4])
    assert told.lower.tolist() == pytest.approx(told.upper.tolist(), rel=1e-12)
    np.testing.assert_allclose(told.predicted, told.time, rtol=1e-12)
    assert told.ended_by.tolist() == ["precision", "precision"]


def test_programs_of_few_cycles_end_with_their_slowest_group():
    of = program("striped", cycles=4, io={"transfer": "0.5 s"})
    told = simulate(of, MACHINE, p=[16], seed=1)
    assert abs(told.difference[0]) < 0.03
    assert told.breakdown.synchronisation[0] > 0
    (said,) = told.simulated
    runs = "complete runs of 4 cycles until the last group has finished"
    assert said == f"{told.cycles[0]:,} cycles of every group, in {runs}"


def test_a_long_run_of_unequal_clusters_is_stretched():
    told = simulate(program("clustered", cycles=10**5), MACHINE, p=3, d=2, precision=0.02)
    assert "scaled to the 100,000 cycles of the program" in told.simulated[0]
    assert any(text.startswith("Clusters or groups are unequal at") for text in told.warnings)
    assert told.time[0, 0] > 0.9e5


def test_phases_add_and_so_do_their_variances():
    both = Program(phase=[phase(name="a"), phase(cycles=3)])
    told = simulate(both, MACHINE, p=[4], seed=9)
    first, second = (
        simulate(Program(phase=[x]), MACHINE, p=[4], seed=9, precision=0.002) for x in both.phase
    )
    assert told.time == pytest.approx(first.time + second.time, rel=0.02)
    assert told.reached[0] < 0.01
    assert re.match("a: .* each ending when all have joined", told.simulated[0])
    assert re.match("phase 2: .* each ending when all have joined", told.simulated[1])


def test_the_executor_does_not_change_the_result():
    of = program("striped", bursts_per_io=2)
    here = simulate(of, MACHINE, p=[2, 4], seed=3)
    with ThreadPoolExecutor(2) as executor:
        there = simulate(of, MACHINE, p=[2, 4], seed=3, executor=executor)
        one = simulate(of, MACHINE, p=2, seed=3, executor=executor)
    assert here.to_document() == there.to_document()
    assert one.time[0] == here.time[0]


@pytest.mark.parametrize("kind", ["synchronous", "striped"])
def test_a_time_limit_ends_it_and_is_told(kind):
    of = program(kind, cycles=LONG)
    told = simulate(of, MACHINE, p=[4, 8], precision=1e-6, most_seconds=1e-6)
    assert told.ended_by.tolist() == ["most_seconds"] * 2
    assert (
        "The time limit was reached before the requested precision at 2 of 2 points, first at "
        "p = 4. Allow more time, or request a lower precision." in told.warnings
    )
    with ThreadPoolExecutor(1) as executor:
        told = simulate(
            of, MACHINE, p=[4, 8], precision=1e-6, most_seconds=1e-6, executor=executor
        )
    assert told.ended_by.tolist() == ["most_seconds"] * 2


def test_laws_replace_those_of_the_description():
    of = Program(phase=[phase(name="solve"), phase(name="set-up", cycles=2)])
    none = dict.fromkeys(("compute", "communication", "io"), "none")
    told = simulate(of, MACHINE, p=[4], laws=none)
    assert told.reached[0] < 1e-12
    assert any(
        text.startswith("The given laws of compute, communication, io are simulated")
        for text in told.warnings
    )
    own = simulate(of, MACHINE, p=[4], laws=none | {"solve.io": np.array([1.0, 3.0])})
    assert own.reached[0] > 1e-3


def test_measured_and_drawn_times_have_the_described_mean():
    of = Program(phase=[{"law": "spmd", "compute": {"parallel": "8 s"}}])
    for law in (np.array([1.0, 2.0, 6.0]), uniform):
        told = simulate(of, MACHINE, p=[1], laws={"compute": law}, precision=0.005)
        assert told.time[0] == pytest.approx(8.0, rel=0.015)


def test_where_the_law_has_no_answer_there_is_none(monkeypatch):
    of = program("clustered", reading="published")
    told = simulate(of, MACHINE, p=[3, 4], d=2, precision=0.05)
    assert np.isnan(told.predicted[:, 0]).tolist() == [True, False]
    assert [row["predicted_s"] is None for row in told.rows()] == [True, False]
    assert [row["difference"] is None for row in told.rows()] == [True, False]
    assert any(text.startswith("The law has no answer at 1 of 2 points") for text in told.warnings)
    assert told.warnings[-2].startswith("the published reading is of formulas") or any(
        "published reading" in text for text in told.warnings
    )
    refused = iter([ParameterError("the grid is refused")])
    times = Program.times

    def once(self, machine, at):
        for refusal in refused:
            raise refusal
        return times(self, machine, at)

    monkeypatch.setattr(Program, "times", once)
    assert not np.isnan(simulate(program(), MACHINE, p=[2], precision=0.1).predicted).any()


def test_a_run_that_does_not_warm_up_is_made_longer_and_then_told(monkeypatch):
    real, cycles = simulate_spmd.simulate_steady, []

    def cold(*args, **keys):
        cycles.append(keys["cycles"])
        return replace(real(*args, **keys | {"cycles": 20}), warmed_up=False)

    monkeypatch.setattr(simulate_spmd, "simulate_steady", cold)
    told = simulate(program("striped", cycles=LONG), MACHINE, p=[2], precision=0.5)
    assert cycles == [100, 400, 1600]
    assert any("had not settled after half of the cycles" in text for text in told.warnings)
    cycles.clear()
    simulate(program("striped", cycles=LONG), MACHINE, p=[2], precision=0.5, most_seconds=1e-6)
    assert cycles == [100]


# shapes, names, refusals


class Other(Phase):
    """A phase of a law that is no queueing network."""

    law: str = "other"

    def cycle(self, machine, at):
        pytest.fail(f"asked {machine} at {at}; a law that is no network is refused before")


def test_other_laws_are_refused():
    other = Program(phase=[phase(), Other()])
    with pytest.raises(ParameterError) as caught:
        simulate(other, MACHINE, p=[4])
    assert str(caught.value) == (
        'law must be "spmd" or "pipeline" for a phase to be simulated, got \'other\' in phase 2. '
        "Simulate the other phases alone, or predict it: parcast predict PROGRAM MACHINE -p LIST"
    )


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (
            {"p": np.arange(1, 10_002)},
            "the grid must have at most 10,000 points to be simulated, got 10001 = 10,001. Use "
            "larger steps.",
        ),
        ({"most_seconds": -1}, "most_seconds must be above 0, got -1. Leave it out for none."),
        (
            {"replications": 1},
            "replications must be a whole number of at least 2, got 1. A single one "
            "has no deviation.",
        ),
        (
            {"laws": {"disk": "none"}},
            "laws must name compute, communication, io, got 'disk'. Use one of these names.",
        ),
        (
            {"laws": {"io": "gamma"}},
            "laws['io'] must be a known law, got 'gamma'. Give \"none\", \"exponential\", "
            "a coefficient of variation, measured times or a function.",
        ),
    ],
)
def test_what_is_asked_wrongly_is_refused(keys, says):
    with pytest.raises(ParameterError) as caught:
        simulate(program(), MACHINE, **({"p": [4]} | keys))
    assert str(caught.value) == says


def test_a_phase_without_cycles_takes_no_time():
    both = Program(phase=[phase(cycles="0 + 0 * p"), phase("striped")])
    told = simulate(both, MACHINE, p=[4])
    assert told.simulated[0] == "phase 1: no cycles"
    alone = simulate(Program(phase=[phase("striped")]), MACHINE, p=[4], precision=0.002)
    assert told.time == pytest.approx(alone.time, rel=0.03)
