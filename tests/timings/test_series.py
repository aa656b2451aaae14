"""`parcast.timings.series`: what is grouped with what, against a plain loop over the rows."""

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.timings.measurements import Measurements

rows = st.lists(
    st.tuples(
        st.sampled_from([1, 2, 3, 4, 64]),  # p
        st.sampled_from(["main", "solve", "io"]),
        st.sampled_from([100, 200.5]),  # n
        st.floats(1e-6, 1e6),
    ),
    min_size=1,
    max_size=60,
)


def measured(table):
    p, callpath, n, seconds = zip(*table, strict=True)
    return Measurements(p=p, callpath=callpath, n=n, time=seconds)


def robust_sd_of_logs(seconds):
    logs = np.log(seconds)
    return 1.4826 * statistics.median(np.abs(logs - statistics.median(logs)))


@given(table=rows)
def test_each_series_is_what_a_loop_over_the_rows_collects(table):
    series = measured(table).series(by=["callpath", "n"])
    expected = {}
    for p, callpath, n, seconds in table:
        expected.setdefault((callpath, n), {}).setdefault(p, []).append(seconds)
    first = list(dict.fromkeys(callpath for callpath, _ in expected))
    expected = dict(sorted(expected.items(), key=lambda x: (first.index(x[0][0]), x[0][1])))
    assert [tuple(key.values()) for key in series.keys] == list(expected)
    for i, points in enumerate(expected.values()):
        count = series.count[i]
        assert series.p[i, :count].tolist() == sorted(points)
        timings = [points[p] for p in sorted(points)]
        assert series.repetitions[i, :count].tolist() == list(map(len, timings))
        medians = list(map(statistics.median, timings))
        assert series.time[i, :count] == pytest.approx(medians, rel=1e-12)
        spreads = list(map(robust_sd_of_logs, timings))
        assert series.spread[i, :count] == pytest.approx(spreads, rel=1e-9, abs=1e-12)


def test_sizes_that_share_a_count_of_processors_are_series_of_their_own():
    runs = Measurements(p=[1, 2, 4, 8], time=[8, 4, 6, 3], n=[100, 100, 200, 200])
    assert [key["n"] for key in runs.series().keys] == [100, 200]


def test_a_problem_that_grows_with_p_is_one_series():
    weak = Measurements(p=[1, 2, 4], n=[100, 200, 400], time=[9, 9.5, 10])
    assert weak.series(by=[]).time.tolist() == [[9, 9.5, 10]]
    assert weak.series().time.tolist() == [[9, 9.5, 10]]
    assert len(weak.series(by=["n"])) == 3


def test_sizes_are_not_taken_for_repetitions_of_one_another():
    with pytest.raises(ParameterError) as caught:
        Measurements(p=[1, 2, 2], time=[8, 4, 6], n=[100, 100, 200]).series(by=[])
    assert str(caught.value) == (
        "by must name every column that varies within a series, got [] where n takes 2 values. "
        "Add 'n' to by, or select one value: select(n=100)."
    )


def test_series_that_would_fill_the_memory_with_padding_are_refused(monkeypatch, refusal):
    """One series of 10,000 counts beside 10,000 of one took 3 GB."""
    monkeypatch.setattr("parcast.timings.series.MOST_PADDED", 5)
    runs = Measurements(p=[1, 2, 3, 1], time=1.0, callpath=["a", "a", "a", "b"])
    assert refusal(ParameterError, runs.series) == (
        "series must fit into a table of 5 places, got 2 series, one of which has 3 processor "
        "counts. Put series with many counts into a file of their own."
    )


@pytest.mark.parametrize("sample", [1, 4096])
@pytest.mark.parametrize("sparse", [0, 8])
@pytest.mark.parametrize("long_runs", [1, 10**6])
def test_every_way_of_grouping_gives_the_same_series(sample, sparse, long_runs, monkeypatch):
    random = np.random.default_rng(1)
    runs = Measurements(
        p=random.choice([1, 2, 4, 8], 200),
        time=random.lognormal(size=200),
        n=random.choice([10, 20, 30], 200),
        callpath=random.choice(["a", "b"], 200),
    )
    expected = runs.series()
    for name, value in {"SAMPLE": sample, "SPARSE": sparse, "LONG_RUNS": long_runs}.items():
        monkeypatch.setattr(f"parcast.timings.series.{name}", value)
    found = runs.series()
    assert found.keys == expected.keys
    for name in ("count", "p", "time", "repetitions", "spread"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
