"""`parcast.forecasting.series.verdict`: what an answer is worth, said first in every form."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.forecasting.forecast import forecast
from parcast.forecasting.knee import knee
from parcast.forecasting.next_runs.plan_runs import plan_runs
from parcast.forecasting.picture import figure_of
from parcast.forecasting.series.verdict import WIDEST_USEFUL
from parcast.timings.measurements import Measurements
from parcast.timings.tables.files import read_measurements

SERIAL = Path(__file__).parent / "data" / "serial.csv"
SAYS = "This does not scale: p = 8 takes as long as p = 1."
P = [1, 2, 4, 8]
FALLING = {"p": [1, 2, 4, 8, 16, 32], "time": [1000, 520, 280, 160, 101, 72.0]}


# A program that does not scale.


def test_that_it_does_not_scale_comes_first_in_every_form():
    told = forecast(read_measurements(SERIAL), [16, 64])
    assert told.warnings[0].startswith(SAYS)
    assert told.verdict == told.warnings[:1]
    assert str(told).splitlines()[0] == SAYS
    assert f'<p class="verdict"><b>{SAYS}' in told._repr_html_()
    document = told.to_document()
    assert document["verdict"][0].startswith(SAYS)
    assert document["series"][0]["warnings"][0].startswith(SAYS)
    assert figure_of(told).get_suptitle().splitlines()[1] == SAYS
    assert told.efficiency[-1] < 0.02
    assert SAYS in knee(read_measurements(SERIAL))[0].verdict


def test_it_says_what_to_do_if_the_work_grew_and_asks_for_copies():
    (text,) = forecast(read_measurements(SERIAL), 16).verdict
    assert "choose weak scaling: scaling='weak', or give" in text
    assert "Were these independent copies?" in text
    (text,) = forecast(read_measurements(SERIAL), 16, scaling="strong").verdict
    assert "choose weak" not in text
    (text,) = forecast({"p": P, "time": [10, 9.8, 11, 12]}, 16).verdict
    assert "copies" not in text
    (text,) = forecast({"p": P, "time": [10.0] * 4, "n": [64] * 4}, 16).verdict
    assert "If n is the size per processor, choose weak scaling" in text


@pytest.mark.parametrize(
    ("time", "says"),
    [
        ([100, 101, 99, 140], "p = 8 takes 1.4 times as long as p = 1."),
        ([100, 97, 92, 85], "p = 8 takes 85% of the time of p = 1."),
        ([100, 100, 104, 104], "p = 8 takes as long as p = 1."),
        ([100, 60, 104, 140], None),
        ([100, 52, 28, 16], None),
        ([100, 80, 70, 65], None),
    ],
)
def test_it_is_said_where_time_hardly_falls(time, says):
    told = forecast({"p": P, "time": time}, 16).verdict
    assert told[0].startswith(f"This does not scale: {says}") if says else told == ()


@given(seed=st.integers(0, 10**6), grows=st.floats(0, 0.2), length=st.integers(2, 8))
def test_times_that_stay_or_rise_are_never_good_news_without_being_asked(seed, grows, length):
    p = 2.0 ** np.arange(length)
    time = p**grows * np.exp(np.random.default_rng(seed).normal(scale=0.01, size=length))
    runs = {"p": p, "time": time}
    told = forecast(runs, 2 * p[-1])
    assert told.verdict[0].startswith("This does not scale: ")
    assert told.efficiency < 0.6
    assert forecast(runs, 2 * p[-1], scaling="weak").efficiency > 0.3


def test_the_longest_call_path_speaks_for_its_run():
    def runs(main, io):
        return {"p": P * 2, "callpath": ["main"] * 4 + ["io"] * 4, "time": [*main, *io]}

    falls, stays = [80, 41, 22, 13], [1.0] * 4
    assert forecast(runs(falls, stays), 16).verdict == ()
    (text,) = forecast(runs([80.0] * 4, [9, 5, 3, 2]), 16).verdict
    assert text.startswith("main: This does not scale")


def test_a_single_run_has_it_from_its_donors():
    there = {"p": P * 3, "time": [100.0] * 8 + [100, 52, 28, 16], "machine": list("AAAABBBBCCCC")}
    text, *_ = forecast({"p": [1], "time": [90.0]}, 8, donors=there).verdict
    assert text.startswith("This does not scale on most of the other machines. If the work grew")


# No forecast.


def test_there_is_no_forecast_where_the_interval_spans_more_than_thirtyfold(parcast, file):
    told = forecast(FALLING, [64, 10**5])
    (text,) = told.verdict
    assert text.startswith("No forecast at p = 100000: the 90% interval spans a factor of ")
    assert text.endswith("Measure a run at p = 128.")
    note = told.notes[0]
    assert note.no_forecast == (10**5,)
    assert f"The last useful count is p = {note.useful_upto}." in text
    near, far = (forecast(FALLING, int(note.useful_upto * x)) for x in (1, 1.07))
    assert near.upper / near.lower <= WIDEST_USEFUL < far.upper / far.lower
    series = told.to_document()["series"][0]
    assert (series["no_forecast_p"], series["useful_upto"]) == ([10**5], note.useful_upto)
    assert str(told).splitlines()[0] == text.partition(". ")[0] + "."
    assert "x3120, no forecast" in str(told)
    assert not any("spans a factor" in x for x in told.warnings[1:])
    assert figure_of(told).get_suptitle().splitlines()[1] in text
    path = file("p,time_s\n1,1000\n2,520\n4,280\n8,160\n16,101\n32,72\n", "t.csv")
    plain = parcast("forecast", path, "-p", "64,100000", "-o", "-").out
    assert plain.splitlines()[0].startswith("p,time_s,lower_s,upper_s")  # tables are as they were


def test_there_is_none_where_the_test_was_off_by_more_than_everything():
    runs = {"p": [1, 2, 4, 8], "time": [100.0, 95, 90, 20]}
    told = forecast(runs, [8, 12])
    (text,) = told.verdict
    assert text.startswith("No forecast at p = 12: tested at p = 8, it was ")
    assert "too high. The last useful count is p = 8. Measure a run at p = 12." in text
    assert knee(runs, upto=16)[0].upto == 8
    assert knee(runs, upto=16, beyond=True)[0].upto == 16


def test_neither_a_knee_nor_a_planned_run_is_where_there_is_no_forecast():
    runs = Measurements(**FALLING)
    asked = {"upto": 10**5, "min_efficiency": 1e-6}
    (found,) = knee(runs, **asked)
    assert found.is_cut
    assert forecast(runs, found.p).notes[0].no_forecast == ()
    assert "; beyond it there is no forecast" in str(found)
    (allowed,) = knee(runs, **asked, beyond=True)
    assert not allowed.is_cut
    assert allowed.upto == 10**5
    planned = plan_runs(runs, p=10**7, runs=9)
    assert planned
    assert all(run.upper / run.lower <= WIDEST_USEFUL for run in planned)
    assert max(run.at["p"] for run in planned) == 4 * max(FALLING["p"])
    beyond = plan_runs(runs, p=10**7, runs=9, upto=10**6, beyond=True)
    assert any(run.upper / run.lower > WIDEST_USEFUL for run in beyond)


@given(
    time=st.lists(st.floats(0.01, 1e4), min_size=2, max_size=6),
    p=st.lists(st.integers(1, 10**6), min_size=1, max_size=4),
)
def test_every_count_without_a_forecast_is_marked_and_said_first(time, p):
    told = forecast({"p": 2.0 ** np.arange(len(time)), "time": time}, p)
    wide = told.upper / told.lower > WIDEST_USEFUL
    note = told.notes[0]
    assert {*told.p[wide]} <= {*note.no_forecast}
    assert bool(note.no_forecast) == any(x.startswith("No forecast at p") for x in told.verdict)
    first = str(told).splitlines()[0]
    assert first.startswith(("No forecast", "This does not scale")) == bool(told.verdict)


def test_the_option_beyond_needs_what_is_chosen(parcast):
    said = parcast("forecast", SERIAL, "--beyond", "-p", "16")
    assert said.status == 2
    assert "--beyond requires --knee or --plan-runs" in said.err
