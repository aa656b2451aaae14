"""Runs that are chosen one by one until an interval is as narrow as asked for."""

from collections import Counter

import numpy as np
import pytest

from parcast.errors import ParameterError
from parcast.forecasting.forecast import forecast
from parcast.measurement.adaptive import Adaptive, Goal, measurements_of
from parcast.measurement.measure import MeasuredCommand, measured
from parcast.measurement.point import points_of
from parcast.measurement.table import TIMEOUT, RunRow
from parcast.trials.command import Ran

NOTHING = dict.fromkeys(("user", "system", "read", "written"), 0) | dict.fromkeys(
    ("memory", "memory_total", "others")
)
NOTHING["memory_from"] = ""
POOL = [1, 2, 4, 8, 16, 32]
LAWS = {
    "amdahl": lambda p: 0.02 + 10 / p,
    "messages": lambda p: 0.05 + 10 / p + 0.02 * np.log2(p),
    "power": lambda p: 10 / p**0.85,
}


def adapted(law, *, noise=0.01, seed=0, runs=5, **goal):
    """Let runs be chosen whose times are known."""
    random = np.random.default_rng(seed)
    choice = Adaptive(goal=Goal(**goal), points=points_of({"p": POOL}, {}), most=runs)
    timed = []
    while True:
        made = Counter(point for point, _ in timed)
        point = choice.following(timed, made, ())
        if point is None:
            return choice, timed
        timed.append((point, float(law(point.columns["p"]) * np.exp(random.normal(0, noise)))))


def cost(timed):
    return sum(x.columns["p"] * seconds for x, seconds in timed)


@pytest.mark.parametrize("name", ["amdahl", "power"])
def test_the_interval_is_reached_for_a_part_of_the_full_product(name):
    law = LAWS[name]
    full = sum(5 * p * law(p) for p in POOL)
    parts, inside = [], []
    for seed in range(4):
        choice, timed = adapted(law, seed=seed, until=0.5, at=(64,))
        assert choice.is_narrow
        assert "as narrow as asked" in choice.ended_by
        parts.append(cost(timed) / full)
        found = forecast(measurements_of(timed), 64)
        inside.append(float(found.lower) <= law(64) <= float(found.upper))
    assert max(parts) < 0.6
    assert sum(inside) >= 3


def test_it_never_makes_more_than_all_runs_and_says_that_they_do_not_help():
    choice, timed = adapted(LAWS["amdahl"], noise=0.3, until=0.02, at=(512,))
    assert not choice.is_narrow
    assert choice.ended_by in {
        "more runs no longer narrow the interval",
        "all runs that were allowed are made",
    }
    assert max(Counter(x for x, _ in timed).values()) <= 5


def test_a_run_that_was_stopped_is_a_bound_and_costs_its_time():
    law = LAWS["amdahl"]
    timed = [(x, law(x.columns["p"])) for x in points_of({"p": POOL[:4]}, {}) for _ in range(2)]
    (point,) = points_of({"p": [32]}, {})
    row = RunRow(point=point, seconds=5.0, status=TIMEOUT, repetition=1, **NOTHING)

    def chosen(stopped, **limit):
        choice = Adaptive(
            goal=Goal(until=0.3, at=(64,), **limit),
            points=points_of({"p": POOL}, {}),
            most=5,
            stopped=stopped,
        )
        made = Counter(x for x, _ in timed) + Counter(x.point for x in stopped)
        return choice, choice.following(timed, made, {x.point for x in stopped})

    without, following = chosen([])
    assert following == point
    having, following = chosen([row])
    assert following.columns["p"] in {16, 8}  # nobody runs again where one was stopped
    assert having.width > without.width
    spent = sum(x for _, x in timed)
    assert chosen([row], seconds=spent + 4.0)[0].ended_by == "the budget is spent"


@pytest.mark.parametrize("limit", [{"seconds": 20.0}, {"core_seconds": 45.0}])
def test_it_stays_within_the_budget(limit):
    choice, timed = adapted(LAWS["amdahl"], until=0.05, at=(512,), **limit)
    assert choice.ended_by == "the budget is spent"
    spent = cost(timed) if "core_seconds" in limit else sum(x for _, x in timed)
    assert spent <= max(limit.values()) * 1.05


@pytest.mark.parametrize(
    ("goal", "says"),
    [
        ({"until": 0.0, "at": (4,)}, "until must be above 0"),
        ({"until": 0.2, "at": ()}, "at must name counts"),
        ({"until": 0.2, "at": (4,), "seconds": 0.0}, "budget must be above 0"),
    ],
)
def test_goals_that_cannot_be_are_refused(goal, says):
    with pytest.raises(ParameterError, match=says):
        Goal(**goal)


def lawful(launch, *, report):
    """Give runs that take exactly what a law says."""
    for i, case in enumerate(launch.cases):
        seconds = LAWS["amdahl"](case.columns["p"])
        known = dict.fromkeys(("memory", "memory_total", "others"))
        ran = Ran(
            seconds=seconds, status=0, user=0.0, system=0.0, read=0, written=0, left=0, output="",
            memory_from="",
            **known,
        )  # fmt: skip
        report(launch.trial(case, seconds, ran, repetition=i + 1))


def test_a_program_is_measured_until_its_forecast_is_narrow(tmp_path, monkeypatch):
    monkeypatch.setattr("parcast.measurement.measure.available_cores", lambda: range(64))
    monkeypatch.setattr(MeasuredCommand, "launcher", property(lambda _: lawful))
    told = measured(
        MeasuredCommand(command=["app", "{p}"]),
        points_of({"p": POOL}, {}),
        output=str(tmp_path / "t.csv"),
        goal=Goal(until=0.5, at=(64,)),
    )
    assert told.is_narrow
    assert len(told.table) < 15
    assert "stopped     the interval at p = 64 is as narrow as asked for" in str(told)


def test_more_counts_than_cores_are_no_help(tmp_path, monkeypatch):
    monkeypatch.setattr("parcast.measurement.measure.available_cores", lambda: range(2))
    with pytest.raises(
        ParameterError,
        match=r"until must have 3 counts or more within the cores, got .* 2 cores\. Measure on a",
    ):
        measured(
            MeasuredCommand(command=["true", "{p}"]),
            points_of({"p": [1, 2, 4, 8]}, {}),
            output=str(tmp_path / "t.csv"),
            goal=Goal(until=1.0, at=(16,)),
        )
