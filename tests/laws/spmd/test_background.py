"""SPMD programs beside other jobs on the same processors: rates, variation, refusals."""

import numpy as np
import pytest

import parcast
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.laws.spmd.law import SpmdPhase
from parcast.simulation.spmd import Interrupted


def machine(**compute):
    return Machine(name="gort", compute=compute, storage={"bandwidth": "100 MB/s"})


def phase(**keys):
    return SpmdPhase(
        **{"law": "spmd", "cycles": 100, "compute": {"parallel": "16 s"}, **keys},
    )


def times(of, on, *p):
    return of.times(on, {"p": np.array(p, float), "d": np.array(1.0)}).time


@pytest.mark.parametrize(
    ("compute", "slower"),
    [
        ({}, 1.0),
        ({"background": 1, "background_jobs": 2}, 3.0),  # two jobs that are always there
        ({"background": 0.5}, 1 / 0.75),  # one, half of the time
        ({"background": 0.3, "background_jobs": 1e9}, 1 / 0.7),  # they go first
        ({"background": 0}, 1.0),
        ({"background": 1, "background_jobs": 2, "background_time": "1 s"}, 3.0),
    ],
)
def test_computing_takes_longer_beside_other_jobs(compute, slower):
    assert times(phase(), machine(**compute), 1, 16) == pytest.approx(
        [1600 * slower, 100 * slower]
    )


def test_the_variance_is_that_of_a_process_of_two_rates():
    """Against draws of many bursts, each of which starts in equilibrium."""
    share, jobs, duration, work = 0.4, 1, 0.05, 20.0
    loss = jobs / (1 + jobs)
    drawn = Interrupted(law="none", work=work, share=share, loss=loss, duration=duration)
    draws = drawn(np.random.default_rng(1), 20_000)
    of = phase(compute={"parallel": f"{work} s"})
    on = machine(background=share, background_time=f"{duration} s")
    demand = of.demands(on, {"p": np.array(1.0)})
    assert demand.computing == pytest.approx(work / (1 - share * loss))
    assert draws.mean() == pytest.approx(1.0, rel=1e-3)
    assert draws.var() == pytest.approx(demand.interruption / demand.computing, rel=0.05)


def test_the_slowest_of_many_processors_waits_for_the_longest_interruptions():
    on = machine(background=0.3, background_time="0.1 s")
    mean = 100 / (1 - 0.15)
    found = times(phase(compute={"parallel": "1 s * p"}), on, 1, 4, 64)
    assert found[0] == pytest.approx(mean)
    assert (np.diff(found) > 0.05 * mean).all()


@pytest.mark.parametrize(
    ("kind", "imbalance"),
    [("synchronous", {}), ("striped", {"imbalance": 1.5}), ("clustered", {})],
)
def test_it_is_near_a_simulation(kind, imbalance):
    of = phase(
        bursts_per_io=5,
        compute={"parallel": "16 s", **imbalance},
        io={"kind": kind, "volume": "10 MB"},
    )
    on = machine(background=0.3, background_time="0.2 s")
    told = parcast.simulate(Program(phase=[of]), on, p=16, d=2, seed=1)
    assert told.predicted == pytest.approx(told.time, rel=0.03)
    slopes = of.resource_slopes(on, {"p": np.array([1.0, 16.0]), "d": np.array(2.0)})
    assert slopes.time == pytest.approx(
        of.times(on, {"p": np.array([1.0, 16.0]), "d": np.array(2.0)}).time, rel=1e-4
    )


def test_other_jobs_that_stay_for_long_are_said():
    on = machine(background=0.3, background_time="5 s")
    told = parcast.predict(Program(phase=[phase()]), on, p=[1, 2, 16])
    assert any(
        text.startswith("Other jobs compete for longer in a row than a burst computes from p = 16")
        for text in told.warnings
    )


@pytest.mark.parametrize(
    ("compute", "says"),
    [
        ({"background_jobs": 2}, "must give background with background_jobs."),
        ({"background_time": "1 s"}, "must give background with background_time."),
    ],
)
def test_nothing_about_other_jobs_stands_without_their_share(compute, says):
    with pytest.raises(ParameterError) as caught:
        machine(**compute)
    assert says in str(caught.value)


def test_a_share_above_1_and_jobs_that_never_leave_are_refused():
    with pytest.raises(ParameterError) as caught:
        times(phase(), machine(background=1.5), 4)
    assert str(caught.value) == (
        "compute.background must be at most 1, got 1.5. It is the share of the time in which "
        "other jobs compete."
    )
    with pytest.raises(ParameterError, match="background_time must vary a burst less"):
        times(phase(), machine(background=0.5, background_time="1e6 s"), 4)
