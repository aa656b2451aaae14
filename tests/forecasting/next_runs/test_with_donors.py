"""`parcast.plan_runs` with donors: against forecasts made again, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.forecasting.forecast import forecast
from parcast.forecasting.next_runs.plan_runs import plan_runs
from parcast.timings.measurements import Measurements
from parcast.timings.tables.files import read_measurements
from tests.forecasting.donors.test_gather import DONORS, ONE, amdahl, runs

STUDY = Path(__file__).parents[3] / "examples" / "finite_difference" / "times.csv"
FAR = runs({"A": amdahl(1, 100), "B": amdahl(4, 180, 0.1), "C": amdahl(1.5, 120, 0.02)})


@pytest.fixture(scope="module")
def study():
    return read_measurements(STUDY)


def width(told):
    """Half-width of log time of the one answer of a forecast."""
    return float(np.log(told.upper / told.lower).item() / 2)


def test_one_own_run_and_donors_are_enough_for_a_plan():
    first, *_ = plan_runs(ONE, p=16, donors=FAR)
    assert first.at == {"p": 8.0}
    assert first.target == {"p": 16.0}
    told, here = (forecast(ONE, p, donors=FAR) for p in (16, 8))
    assert first.before == pytest.approx(width(told))
    assert first.target_time == pytest.approx(told.time.item())
    assert first.time == pytest.approx(here.time.item())
    assert (first.lower, first.upper) == pytest.approx((here.lower.item(), here.upper.item()))
    assert first.cost == pytest.approx(8 * first.time)
    assert first.because == "reduces the extrapolation to p = 16 from 4x to 2x"


def test_runs_follow_on_each_other_and_each_narrows(study):
    elsewhere, here = study.select(machine=["T3E", "SP"]), study.select(machine="O2000", p=1)
    found = plan_runs(here, p=64, donors=elsewhere, runs=3, beyond=True)
    assert [run.at["p"] for run in found] == [8, 32]
    assert [run.before for run in found[1:]] == [run.after for run in found[:-1]]
    assert all(run.after < 0.95 * run.before for run in found)
    assert {run.label for run in found} == {"O2000"}
    assert [run.because for run in found] == [
        "reduces the extrapolation to p = 64 from 64x to 8x",
        "reduces the extrapolation to p = 64 from 8x to 2x",
    ]
    assert plan_runs(here, p=64, donors=elsewhere, runs=1, beyond=True) == found[:1]


def test_counts_costs_and_the_largest_count_are_kept_to():
    assert [x.at["p"] for x in plan_runs(ONE, p=64, donors=FAR, counts=[13], runs=3)] == [13]
    assert max(x.at["p"] for x in plan_runs(ONE, p=64, donors=FAR, upto=16)) <= 16
    free = plan_runs(ONE, p=64, donors=FAR, runs=1, cost=lambda p, time: 1 + 0 * p * time)
    dear = plan_runs(ONE, p=64, donors=FAR, runs=1, cost=lambda p, time: p**3 + 0 * time)
    assert free[0].cost == 1
    assert dear[0].at["p"] < free[0].at["p"]
    assert plan_runs(ONE, p=4, donors=FAR) == []


def test_series_without_donors_are_planned_from_their_own_runs():
    here = Measurements(
        p=[1, 2, 4, 4, 4], time=[100.0, 52, 28, 20, 9], callpath=["f", "f", "f", "g", "h"]
    )
    donors = runs({"A": amdahl(1, 100), "B": amdahl(2, 180)}, callpath=["g"] * 10)
    found = plan_runs(here, p=32, donors=donors, runs=1)
    assert [run.label for run in found] == ["f", "g"]
    assert found[0] == plan_runs(here.select(callpath="f"), p=32, runs=1, by=["callpath"])[0]


def test_many_series_are_planned_for_as_if_each_were_alone(monkeypatch):
    paths = ["f", "g", "h"]
    here = Measurements(
        p=[1, 2, 4, 1, 1, 2], time=[100.0, 52, 28, 30, 8, 5], callpath=[*"fff", "g", *"hh"]
    )
    donors = [
        runs({name: amdahl(x * i, 100, 0.1 * x) for name, x in {"A": 1, "B": 2}.items()})
        for i in (1, 2, 3)
    ]
    joined = {
        name: np.concatenate([x.columns[name] for x in donors]) for name in donors[0].columns
    }
    elsewhere = Measurements(**joined, callpath=[x for x in paths for _ in range(10)])
    together = plan_runs(here, p=32, donors=elsewhere, runs=2)
    alone = [
        run
        for path in paths
        for run in plan_runs(
            here.select(callpath=path), p=32, donors=elsewhere, runs=2, by=["callpath"]
        )
    ]
    assert [run.at for run in together] == [run.at for run in alone]
    assert [run.after for run in together] == pytest.approx([run.after for run in alone])
    monkeypatch.setattr("parcast.forecasting.next_runs.method.POINTS_AT_ONCE", 1)
    in_parts = plan_runs(here, p=32, donors=elsewhere, runs=2)
    assert [run.after for run in in_parts] == pytest.approx([run.after for run in together])


def test_machines_like_the_target_weigh_more_in_a_plan_too():
    machines = [
        Machine(name=name, compute={"rate": f"{rate} Mflop/s"})
        for name, rate in {"A": 100, "B": 6400, "C": 6400, "me": 100}.items()
    ]
    first, *_ = plan_runs(ONE, p=16, donors=DONORS, machines=machines)
    told = forecast(ONE, p=16, donors=DONORS, machines=machines)
    assert first.before == pytest.approx(width(told))
    assert first.before != pytest.approx(width(forecast(ONE, p=16, donors=DONORS)))


def test_no_run_is_planned_that_widens_the_interval_it_is_shown_for():
    draw = np.random.default_rng(5)
    counts = 2.0 ** np.arange(9)
    planned = 0
    for _ in range(12):
        growth = draw.uniform(0, 0.3, 4)
        times = 100 / counts + growth[:, None] * counts**0.7
        times *= draw.lognormal(0, 0.1, times.shape)
        names = np.repeat(["A", "B", "C"], 9)
        donors = Measurements(p=np.tile(counts, 3), time=times[1:].ravel(), machine=names)
        here = Measurements(p=counts[:2], time=times[0, :2])
        for run in plan_runs(here, p=[32, 128, 256], donors=donors, runs=2):
            assert run.after <= run.before
            planned += 1
    assert planned > 5
