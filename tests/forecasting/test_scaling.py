"""`parcast.forecasting.scaling`: strong or weak for whole runs, and the words for it."""

import pytest

from parcast.forecasting.forecast import forecast
from parcast.forecasting.scaling import scaling_of_runs
from parcast.timings.measurements import Measurements

P = [1, 2, 4, 8]
FALLS, STAYS, RISES = [8.0, 5.0, 3.0, 2.5], [5.0, 5.0, 5.0, 5.25], [0.1, 0.2, 0.4, 0.8]


def program(*machines_and_paths):
    """A table of the times of (machine, call path, times)."""
    table = {"p": [], "time": [], "machine": [], "callpath": []}
    for machine, path, times in machines_and_paths:
        table["p"] += P
        table["time"] += times
        table["machine"] += [machine] * len(P)
        table["callpath"] += [path] * len(P)
    return Measurements(**table).series()


@pytest.mark.parametrize(
    ("time", "strong", "says"),
    [
        (FALLS, True, "time falls from 8 s at p = 1 to 2.5 s at p = 8"),
        ([8, 5, 3.14159, 7], True, "time falls from 8 s at p = 1 to 3.14 s at p = 4"),
        (
            STAYS,
            False,
            "time goes from 5 s at p = 1 to 5.25 s at p = 8 and does not fall as that of fixed "
            "work would (if the work was fixed, choose strong scaling)",
        ),
    ],
)
def test_the_times_tell_the_scaling_and_which_of_them_is_said(time, strong, says):
    found, reasons = scaling_of_runs(Measurements(p=P, time=time).series(), "auto")
    assert found.tolist() == [strong]
    assert reasons == [says]


@pytest.mark.parametrize("scaling", ["strong", "weak"])
def test_what_the_user_says_holds(scaling):
    found, reasons = scaling_of_runs(program(("SP", "main", FALLS)), scaling)
    assert found.tolist() == [scaling == "strong"]
    assert reasons == ["as requested"]


def test_a_problem_size_that_grows_with_p_is_weak_scaling_whatever_the_times():
    table = {"p": P, "n": [100, 200, 400, 800], "time": FALLS}
    note = forecast(Measurements(**table), 16).notes[0]
    assert (note.scaling, note.scaling_reason) == ("weak", "n grows with p")
    shrinks = forecast(Measurements(**(table | {"n": [800, 400, 200, 100]})), 16).notes[0]
    assert shrinks.scaling == "strong"
    fixed = forecast(Measurements(**(table | {"n": 100})), 16).notes[0]
    assert fixed.scaling == "strong"


def test_the_longest_call_path_tells_it_for_its_whole_run():
    found, reasons = scaling_of_runs(program(("A", "halo", RISES), ("A", "main", FALLS)), "auto")
    assert found.tolist() == [True, True]
    assert reasons[0] == "as for main, the longest call path"
    assert reasons[1].startswith("time falls")


def test_runs_on_another_machine_tell_their_own():
    runs = program(("A", "main", FALLS), ("A", "halo", RISES), ("B", "main", STAYS))
    found, _ = scaling_of_runs(runs, "auto")
    assert found.tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("n", "is_strong", "says"),
    [
        (
            [100] * 4,
            True,
            "although the time does not fall (if n is the size per processor, choose",
        ),
        ([100, 200, 400, 800], False, "n grows with p"),
        ([800, 100, 400, 200], False, "does not fall as that of fixed work would"),
    ],
)
def test_a_problem_size_tells_it_before_the_times(n, is_strong, says):
    runs = Measurements(p=[1, 2, 4, 8], n=n, time=[10.0, 10.0, 10.1, 10.0])
    told = forecast(runs, p=[16], by=[])
    assert (told.notes[0].scaling == "strong") == is_strong
    assert says in told.notes[0].scaling_reason


def test_times_that_fall_tell_it_where_the_size_is_fixed_too():
    runs = Measurements(p=[1, 2, 4], n=[100] * 3, time=[8.0, 4.2, 2.3])
    assert "time falls from" in forecast(runs, p=[8]).notes[0].scaling_reason
