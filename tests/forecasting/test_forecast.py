"""`parcast.forecast`: shapes, order, what it refuses, and that its numbers are numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import FitFailed, ParameterError
from parcast.forecasting.forecast import forecast
from parcast.timings.measurements import Measurements

P, TIME = [1, 2, 4, 8, 16], [100.0, 52.0, 28.0, 16.0, 10.5]
RUNS = Measurements(p=P, time=TIME)
ARRAYS = ("time", "lower", "upper", "speedup", "efficiency", "reach", "observed")


def refusal(*arguments, error=ParameterError, **options):
    with pytest.raises(error) as caught:
        forecast(*arguments, **options)
    return str(caught.value)


# Shapes.


@pytest.mark.parametrize("p", [32, [32], [32, 64, 3], [[32, 64], [1, 2]], np.ones((2, 1, 3))])
def test_a_single_series_is_answered_in_the_shape_of_p(p):
    told = forecast(RUNS, p)
    assert {np.shape(getattr(told, name)) for name in ("p", *ARRAYS)} == {np.shape(p)}
    assert told.by == ()


# What is answered.


def test_noise_of_repetitions_widens_the_interval():
    p = np.repeat(P, 3)
    quiet, loud = (
        forecast(Measurements(p=p, time=np.repeat(TIME, 3) * np.tile(x, 5)), 16)
        for x in ([0.99, 1, 1.01], [0.8, 1, 1.25])
    )
    assert quiet.time == pytest.approx(loud.time)
    assert loud.upper / loud.lower > 1.3 * quiet.upper / quiet.lower
    assert quiet.notes[0].noise < 0.02
    assert loud.notes[0].noise > 0.2


# Held out.


def test_counts_held_out_are_forecast_and_compared_with_what_was_measured():
    told = forecast(RUNS, hold_out=[8, 16])
    assert told.p.tolist() == [8, 16]
    assert told.observed.tolist() == [16, 10.5]
    assert told.measured.p.tolist() == [[1, 2, 4]]
    expected = forecast(Measurements(p=P[:3], time=TIME[:3]), [8, 16])
    np.testing.assert_array_equal(told.time, expected.time)


def test_a_series_of_which_all_counts_are_held_out_is_named():
    runs = Measurements(p=[1, 2, 4, 4], time=[8.0, 5, 3, 4], machine=["A", "A", "A", "B"])
    told = forecast(runs, hold_out=[4])
    assert told.refused == {"B": "All counts are held out. Hold out fewer."}
    assert told.observed.tolist() == [[3]]
    assert told.warnings[-1] == "B: no forecast. All counts are held out. Hold out fewer."


def test_holding_out_counts_does_not_change_what_tells_series_apart():
    # the axis n takes one value only in what is left: once a KeyError
    runs = Measurements(p=[1, 2, 4, 8, 8], n=[100, 100, 100, 100, 200], time=[8.0, 4, 2, 1, 2])
    told = forecast(runs, hold_out=[8])
    assert told.by == ("n",)
    assert told.observed.tolist() == [[1]]
    assert list(told.refused) == ["n = 200"]


# Series without a forecast.


def test_a_series_with_a_single_count_is_left_out_and_named():
    runs = Measurements(p=[1, 2, 4, 4, 4], time=[8, 5, 3, 7.0, 8], machine=["A"] * 3 + ["B"] * 2)
    told = forecast(runs, [8, 16])
    assert told.time.shape == (1, 2)
    assert [note.key for note in told.notes] == [{"machine": "A"}]
    why = (
        "All times are at p = 4, and a forecast requires at least two processor counts. "
        "Measure another, best two or four times as large, or give runs on other machines as "
        "donors."
    )
    assert told.refused == {"B": why}
    assert told.warnings[-1] == f"B: no forecast. {why}"
    assert told.observed.shape == (1, 2)
    assert len(told.measured) == 1


# Bad arguments.


def test_one_count_that_is_left_is_too_few():
    assert refusal(RUNS, hold_out=P[1:], error=FitFailed) == (
        "No forecast. Fewer than two counts are left to forecast from. Hold out fewer."
    )


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"p": [1, 1e300]}, "p must be at most 1e9, got 1e+300. No machine has more."),
        (
            {"time": [1, 1e-31]},
            "time must lie between 1e-30 and 1e30 s, got 1e-31. Check its unit.",
        ),
        (
            {"time": [2e30, 1]},
            "time must lie between 1e-30 and 1e30 s, got 2e+30. Check its unit.",
        ),
    ],
)
def test_measurements_that_no_machine_could_give_are_refused(bad, says):
    assert refusal({"p": [1, 2], "time": [8.0, 5]} | bad, 8) == says


@pytest.mark.parametrize("time", [[1e-30, 1e30], [1e30, 1e-30], [1e-30, 1e-30]])
def test_the_edges_of_what_is_imaginable_are_answered(time):
    ordered(forecast({"p": [10**9 - 1, 10**9], "time": time}, [1, 10**6, 10**9]))
    ordered(forecast({"p": [1, 2], "time": time}, [1, 10**6, 10**9]))


# Numbers are numbers.

names = st.sampled_from(["A", "B", "C"])
many_times = st.lists(
    st.tuples(names, st.integers(1, 10**6), st.floats(1e-9, 1e9)), min_size=1, max_size=30
)
plausible_times = st.lists(
    st.tuples(names, st.sampled_from([1, 2, 4, 8, 16]), st.floats(0.5, 20)),
    min_size=3,
    max_size=30,
)


def ordered(told):
    assert np.isfinite(told.time).all()
    assert np.isfinite(told.upper).all()
    assert (told.lower > 0).all()
    assert (told.lower < told.time).all()
    assert (told.time < told.upper).all()
    assert np.isfinite(told.speedup).all()
    assert np.isfinite(told.efficiency).all()
    assert (told.reach >= 1).all()


@given(
    table=many_times | plausible_times,
    asked=st.lists(st.integers(1, 10**6), min_size=1, max_size=5),
)
def test_every_time_is_above_zero_and_inside_its_interval(table, asked):
    machine, p, time = zip(*table, strict=True)
    counts = {name: {x for m, x, _ in table if m == name} for name in machine}
    refused = sorted(name for name in counts if len(counts[name]) < 2)
    if len(refused) == len(counts):
        refusal({"p": p, "time": time, "machine": machine}, asked, error=FitFailed)
        return
    told = forecast({"p": p, "time": time, "machine": machine}, asked)
    ordered(told)
    assert sorted(told.refused) == refused
    assert told.time.shape == (len(counts) - len(refused), len(asked))
    assert len(told.notes) == len(told.time)


@pytest.mark.parametrize("time", [TIME, [10.0] * 5, [1.0, 2, 4, 8, 16], [16, 1, 16, 1, 16.0]])
def test_a_million_processors_are_answered_and_marked(time):
    told = forecast(Measurements(p=P, time=time), 10**6)
    ordered(told)
    assert told.reach == 62500
    assert any("to 62500x the largest" in text or "6.25e+04" in text for text in told.warnings)


# Many series.


def synthetic(series, seed=0):
    draw = np.random.default_rng(seed)
    p = np.tile([1, 2, 4, 8, 16], series)
    a, b, c = draw.uniform(0, 1, (3, series, 1))
    time = (a + b / P[:5] + 0.02 * c * np.log2(P)) * draw.lognormal(0, 0.02, (series, 5)) + 0.01
    return Measurements(p=p, time=time.ravel(), machine=np.repeat(range(series), 5).astype(str))


def test_ten_thousand_series_are_answered_at_once_and_each_as_alone():
    runs = synthetic(10_000)
    told = forecast(runs, [32, 64], scaling="strong")
    assert told.time.shape == (10_000, 2)
    ordered(told)
    for i in (0, 1, 4_999, 9_999):
        own = Measurements(p=P, time=runs.time[5 * i : 5 * i + 5])
        alone = forecast(own, [32, 64], scaling="strong")
        for name in ("time", "lower", "upper", "speedup", "efficiency", "reach"):
            np.testing.assert_allclose(getattr(told, name)[i], getattr(alone, name), rtol=1e-6)
        assert alone.notes[0].warnings == told.notes[i].warnings
        assert alone.notes[0].limited_by == told.notes[i].limited_by


def test_series_answered_in_parts_are_those_answered_at_once(monkeypatch):
    runs, seen = synthetic(25), []
    at_once = forecast(runs, [32, 64])
    monkeypatch.setattr("parcast.forecasting.series.curve.POINTS_AT_ONCE", 70)
    in_parts = forecast(runs, [32, 64], progress=lambda done, all_: seen.append((done, all_)))
    for name in ARRAYS:
        np.testing.assert_allclose(getattr(in_parts, name), getattr(at_once, name), rtol=1e-12)
    assert [note.key for note in in_parts.notes] == [note.key for note in at_once.notes]
    assert seen == [(10, 25), (20, 25), (25, 25)]


def test_files_are_read_where_measurements_are_taken(tmp_path):
    here, there = tmp_path / "here.csv", tmp_path / "there.csv"
    here.write_text("p,time_s\n1,100\n2,52\n", encoding="utf-8")
    there.write_text("p,time_s,machine\n1,80,B\n2,42,B\n4,22,B\n", encoding="utf-8")
    runs = Measurements(p=[1, 2], time=[100.0, 52.0])
    donors = Measurements(p=[1, 2, 4], time=[80.0, 42.0, 22.0], machine="B")
    result = forecast(str(here), 4, donors=[there])
    assert result.time == forecast(runs, 4, donors=donors).time
    assert forecast(here).p.tolist() == [4, 8]


@pytest.mark.parametrize("last", [2.0, 3.07, 4.0])
def test_a_program_that_turned_goes_on_as_it_turned(last):
    """The T3E of examples/finite_difference, its last count run five times: it was set aside."""
    p = [1, 2, 4, 8, 16, 32, *[64] * 5]
    time = [17.09, 9.01, 4.55, 2.46, 1.52, 1.18, *last * np.array([0.99, 1, 1.01, 1, 1.02])]
    told = forecast(Measurements(p=p, time=time), [66, 80, 128])
    assert np.all(np.diff([last, *told.time]) > 0)
    assert told.time[-1] > 1.5 * last


def test_more_processors_than_any_machine_has_are_refused():
    with pytest.raises(ParameterError, match="p must be at most 1e9, got 2e"):
        forecast(Measurements(p=[1, 2], time=[2.0, 1]), 2e9)
