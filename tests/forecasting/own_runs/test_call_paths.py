"""Forecasts of call paths: totals that agree with their parts, and regions that take over."""

import numpy as np
import pytest

from parcast.forecasting.forecast import forecast, largest_regions
from parcast.forecasting.own_runs.call_paths import profile_of
from parcast.timings.measurements import Measurements

P = np.array([1.0, 2, 4, 8, 16])
LAWS = {
    "main->solve": lambda p: 80 / p,
    "main->solve->halo": lambda p: 2 + 0 * p,
    "main->reduce": lambda p: 0.2 * np.log2(2 * p),
    "main->reduce->MPI_Allreduce": lambda p: 0.18 * np.log2(2 * p),
}


def times(path, p):
    """Inclusive: what a path and everything below it take; main has 1 s of its own."""
    own = {"main": 1.0, "main->solve": 80 / p}
    if path == "main":
        return 1.0 + times("main->solve", p) + times("main->reduce", p)
    if path == "main->solve":
        return own[path] + LAWS["main->solve->halo"](p)
    return LAWS[path](p)


PATHS = ["main", *LAWS]


def profile(paths=PATHS, noise=0.0, p=P, **labels):
    random = np.random.default_rng(1)
    rows = [
        (x, path, times(path, x) * np.exp(noise * random.normal())) for path in paths for x in p
    ]
    columns = zip(*rows, strict=True)
    p, callpath, time = (list(column) for column in columns)
    return Measurements(p=p, callpath=callpath, time=time, **labels)


def by_path(told):
    return {note.key["callpath"]: told.time[i] for i, note in enumerate(told.notes)}


def test_totals_are_consistent_with_their_parts():
    at = [16, 64, 1024]
    told = forecast(profile(), p=at)
    time = by_path(told)
    own = time["main"] - time["main->solve"] - time["main->reduce"]
    assert np.all(own > 0)
    assert own == pytest.approx([1.0] * 3, rel=0.2)
    assert np.all(time["main->solve"] > time["main->solve->halo"])
    assert np.all((told.lower < told.time) & (told.time < told.upper))
    assert "3 of 3 call paths adjusted to the sum of their parts" in told.notes[0].rests_on


def test_measured_counts_stay_as_measured():
    told = forecast(profile(noise=0.0), p=[4, 16])
    for path, time in by_path(told).items():
        assert time == pytest.approx([times(path, 4.0), times(path, 16.0)], rel=1e-9)


def test_call_paths_that_add_up_to_more_are_not_forced():
    runs = Measurements(
        p=np.tile(P, 3),
        callpath=np.repeat(["main", "main->wait", "main->work"], len(P)),
        time=np.concatenate([10 + 0 * P, 8 + 0 * P, 9 + 0 * P]),
    )
    told = forecast(runs, p=[64])
    time = by_path(told)
    assert time["main->wait"] + time["main->work"] > time["main"]
    assert "of the slowest rank" in told.notes[0].rests_on


def test_exclusive_times_are_left_alone():
    runs = Measurements(
        p=np.tile(P, 2),
        callpath=np.repeat(["main", "main->work"], len(P)),
        time=np.concatenate([1 + 0 * P, 80 / P + 1]),
    )
    assert profile_of(runs.series()) is None
    apart = forecast(runs.select(callpath="main->work"), p=64)
    assert forecast(runs, p=64).time[1] == pytest.approx(apart.time, rel=1e-12)


def test_each_machine_has_a_tree_of_its_own():
    both = Measurements.from_table(
        {
            name: np.concatenate([a, b])
            for (name, a), b in zip(
                profile(machine="A").columns.items(),
                profile(machine="B").columns.values(),
                strict=True,
            )
        }
    )
    told = forecast(both, p=64)
    alone = forecast(profile(), p=64)
    assert told.time[: len(PATHS)] == pytest.approx(alone.time, rel=1e-12)
    assert told.time[len(PATHS) :] == pytest.approx(alone.time, rel=1e-12)


def test_the_regions_that_take_over_come_first():
    told = largest_regions(forecast(profile(), p=[32, 1024]), top=3)
    labels = [note.label for note in told.notes]
    assert len(labels) == 3
    assert "main->solve" not in labels[:1]  # it has nearly vanished at p = 1024
    assert labels[0] in {"main->solve->halo", "main->reduce->MPI_Allreduce", "main"}
    shares = [note.shares for note in told.notes]
    assert [then for _, then in shares] == sorted((then for _, then in shares), reverse=True)
    assert sum(then for _, then in shares) <= 1 + 1e-9
    assert told.time.shape == (3, 2)
    assert {"share", "share_measured"} <= told.to_document()["series"][0].keys()
    assert "own share: of the time of all call paths, without callees" in str(told)
