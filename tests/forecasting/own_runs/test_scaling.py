"""`own_runs.scaling`: strong or weak by what is said or by n, never by the times."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.deciding.machines.match import match
from parcast.forecasting.forecast import forecast
from parcast.forecasting.knee import knee
from parcast.forecasting.own_runs.scaling import size_of_runs
from parcast.timings.measurements import Measurements

P = [1, 2, 4, 8]
FALLS, STAYS, RISES = [8.0, 5.0, 3.0, 2.5], [5.0, 5.0, 5.0, 5.25], [0.1, 0.2, 0.4, 0.8]
times = st.lists(st.floats(0.1, 100), min_size=4, max_size=4)
ASSUMED = "assumed: nothing says that the work grows with p"


@given(times)
def test_times_alone_are_read_as_strong_scaling_which_is_said_to_be_assumed(time):
    note = forecast({"p": P, "time": time}, 16).notes[0]
    assert (note.scaling, note.scaling_reason) == ("strong", ASSUMED)


@pytest.mark.parametrize(
    ("n", "size", "scaling"),
    [
        ([100, 200, 400, 800], "grows", "weak"),
        ([100, 100, 200, 200], "grows", "weak"),
        ([100, 100, 100, 100], "fixed", "strong"),
        ([800, 400, 200, 100], "mixed", "strong"),
        ([100, 800, 200, 900], "mixed", "strong"),
        ([5e-324, 1e308, 1e308, 1.7e308], "grows", "weak"),
    ],
)
def test_a_problem_size_that_grows_with_p_is_weak_scaling_whatever_the_times(n, size, scaling):
    runs = Measurements(p=P, n=n, time=FALLS)
    assert size_of_runs(runs, ()) == size
    assert forecast(runs, 16, by=[]).notes[0].scaling == scaling


def test_call_paths_and_machines_are_read_alike():
    table = {"p": [], "time": [], "machine": [], "callpath": []}
    for machine, path, time in (("A", "main", FALLS), ("A", "halo", RISES), ("B", "main", STAYS)):
        table["p"] += P
        table["time"] += time
        table["machine"] += [machine] * 4
        table["callpath"] += [path] * 4
    told = forecast(table, 16)
    assert {note.scaling for note in told.notes} == {"strong"}
    assert told.efficiency.max() < 1
    weak = forecast(table, 16, scaling="weak")
    assert weak.efficiency[1:].max() > 0.5


def test_the_donors_tell_that_the_work_grows_where_no_run_here_can():
    there = {"p": P * 2, "time": [5.0] * 8, "n": P * 2, "machine": ["A"] * 4 + ["B"] * 4}
    note = forecast({"p": [1], "n": [1], "time": [4.0]}, 8, donors=there).notes[0]
    assert (note.scaling, note.scaling_reason) == ("weak", "n grows with p on the other machines")
    alone = {name: column for name, column in there.items() if name != "n"}
    note = forecast({"p": [1], "time": [4.0]}, 8, donors=alone).notes[0]
    assert (note.scaling, note.scaling_reason) == ("strong", ASSUMED)


def test_one_rule_for_forecast_knee_and_match():
    for n, scaling, efficiency in ((None, "strong", 0.125), (P, "weak", 1.0)):
        runs = {"p": P, "time": [100.0] * 4} | ({} if n is None else {"n": n})
        assert forecast(runs, 8).efficiency == pytest.approx(efficiency)
        (found,) = knee(runs, upto=8)
        assert found.efficiency == pytest.approx(1.0)
        assert found.p == (1 if n is None else 8)
        matched = match(runs)
        assert matched.reading.name == scaling
        assert matched.candidates[0].efficiency[-1] == pytest.approx(efficiency)
        assert match(runs, scaling="weak").candidates[0].efficiency[-1] == pytest.approx(1.0)
