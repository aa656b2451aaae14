"""`makespan` against simulations, exact limits, its slopes and its laws."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.laws.spmd.law import SpmdPhase
from parcast.queueing.makespan import Circulation, makespan_excess
from parcast.queueing.order import expected_maximum
from parcast.queueing.time_laws import gamma_times

DATA = Path(__file__).parent / "data" / "makespan.csv"
CYCLES = [5, 20, 50]
LAWS = {0.0: "none", 1.0: "exponential"}
STEP = 1e-6


def circulation(**changes):
    """Twelve jobs, four on each of three disks; every burst takes 1 s away from the queues."""
    given = {
        "jobs": 12.0,
        "sharing": 4.0,
        "queues": 3.0,
        "cycles": 20.0,
        "visits": 3.0,
        "delay": 0.7,
        "steady": 0.3,
        "first": 0.05,
        "second": 0.4,
        "delay_cv": 0.5,
    } | changes
    numbers = {name: np.atleast_1d(np.asarray(value, float)) for name, value in given.items()}
    return Circulation(**numbers, first_cv=1.0, second_cv=1.0, geometric=False)


def cycle_of(value, *slopes):
    return np.array([value, *(slopes or (3.2, 3.0, 8.0, 1.5))])[:, None]


def computed(network, cycles):
    """Cycles of the long run, and whole runs, of a network of the table."""
    delay_cv, first_cv, second_cv = (
        LAWS.get(network[name], network[name]) for name in ("delay_cv", "first_cv", "second_cv")
    )
    phase = SpmdPhase(
        law="spmd",
        bursts_per_io=network["bursts"],
        bursts="geometric" if network["geometric"] else "fixed",
        compute={"serial": f"{1 - network['steady']} s", "variability": delay_cv},
        communication={
            "startup": f"{network['steady']} s",
            "transfer": f"{network['first']} s",
            "contention": 1,
            "variability": first_cv,
        },
        io={
            "kind": "clustered" if network["disks"] > 1 else "striped",
            "transfer": f"{network['second'] * network['jobs']} s",
            "variability": second_cv,
        },
    )
    at = {"p": network["jobs"], "d": network["disks"], "cycles": cycles}
    return phase.cycle(Machine(), at).time * cycles, phase.times(Machine(), at).time


def test_runs_agree_with_simulations():
    networks = {}
    with DATA.open(encoding="utf-8") as lines:
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            *network, cycles, time = ((name, float(value)) for name, value in row.items())
            networks.setdefault(tuple(network), []).append((cycles[1], time[1]))
    errors, before = [], []
    for network, runs in networks.items():
        cycles, times = np.array(runs).T
        assert cycles.tolist() == CYCLES
        long_run, run = computed(dict(network), cycles)
        errors.append(np.abs(run / times - 1.0))
        before.append(np.abs(long_run / times - 1.0))
    few, many = np.split(np.array(errors), [CYCLES.index(20)], axis=1)
    assert len(networks) >= 40
    assert (many < 0.015).mean() > 0.975
    assert (many.max(axis=0) < [0.025, 0.013]).all()
    assert few.max() < 0.06
    assert np.mean(errors) < 0.1 * np.mean(before)


def test_without_queues_a_run_ends_with_the_longest_sum_of_delays():
    of = circulation(first=0.0, second=0.0)
    largest = float(expected_maximum(12, gamma_times(0.5, bursts=60)))
    excess = makespan_excess(of, cycle_of(3.0, 3.0, 3.0, 3.0, 1.0))
    assert excess[0, 0] == pytest.approx(60 * 0.7 * (largest - 1.0), rel=1e-8)


def test_one_job_has_neither_start_nor_end():
    of = circulation(jobs=1.0, sharing=1.0, queues=1.0)
    assert makespan_excess(of, cycle_of(3 * 1.05 + 0.4, 3, 3, 3, 1)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("geometric", [False, True])
@pytest.mark.parametrize("value", [4.2, 9.0])
@pytest.mark.parametrize(
    ("row", "name"), [(1, "delay"), (2, "steady"), (3, "first"), (4, "second")]
)
def test_slopes_are_those_of_the_excess(geometric, value, row, name):
    of = replace(circulation(), geometric=geometric)
    cycle = cycle_of(value)
    above, below = (
        makespan_excess(
            replace(of, **{name: getattr(of, name) + step}), cycle_of(value + step * cycle[row, 0])
        )[0, 0]
        for step in (STEP, -STEP)
    )
    slope = makespan_excess(of, cycle)[row, 0]
    assert slope == pytest.approx((above - below) / (2 * STEP), rel=1e-5, abs=1e-5)


def test_more_cycles_jobs_or_queues_never_end_earlier():
    for name, values in (
        ("cycles", [2.0, 5, 20, 100, 1000]),
        ("jobs", [12.0, 24, 96]),
        ("queues", [1.0, 3, 8]),
    ):
        found = [makespan_excess(circulation(**{name: v}), cycle_of(4.5))[0, 0] for v in values]
        assert (np.diff(found) >= 0).all()
