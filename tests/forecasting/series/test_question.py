"""Keywords that are no axes: refused with what is meant, and never taken for an axis."""

import pytest

from parcast.errors import ParameterError
from parcast.forecasting.forecast import forecast
from parcast.timings.measurements import Measurements

RUNS = Measurements(p=[1, 2, 4, 8], time=[100.0, 52.0, 28.0, 16.0])
SIZES = Measurements(p=[1, 2, 4] * 2, n=[1, 1, 1, 2, 2, 2], time=[8, 4, 2, 16, 8, 4])


@pytest.mark.parametrize(
    ("keyword", "says"),
    [
        ({"donor": RUNS}, "Did you mean donors?"),
        ({"holdout": 8}, "Did you mean hold_out?"),
        ({"Scaling": "weak"}, "Did you mean scaling?"),
        ({"nn": 3}, "Its only axis is p."),
        ({"target": "T3E"}, "donors=runs.select(machine=['SP', 'O2000'])"),
        ({"knee": 0.5}, "Call parcast.knee(runs, upto=1024)."),
        ({"machine": "T3E"}, "Select rows first: runs.select(machine='T3E')."),
        ({"ignore": ["jobid"]}, "parcast.read_measurements(path, ignore=['jobid'])"),
        ({"at": {"n": 3}}, "Name the axis itself: n=[1000, 2000]."),
        ({"top": 10}, "parcast.largest_regions(result, 10)"),
        ({"processors": 64}, "Processors are p: p=[64, 128]."),
    ],
)
@pytest.mark.parametrize("others", [{"p": 64}, {"p": 64, "donors": RUNS}, {}])
def test_a_keyword_that_is_no_axis_is_told_what_it_may_mean(keyword, says, others):
    (name,) = keyword
    begins = f"^{name} must be a parameter of forecast or an axis of the measurements\\."
    with pytest.raises(ParameterError, match=begins) as refused:
        forecast(RUNS, **others, **keyword)
    assert says in str(refused.value)


def test_an_axis_may_be_called_as_an_option_is():
    runs = Measurements(p=SIZES.p, target=SIZES.axes["n"], time=SIZES.time)
    assert forecast(runs, 8, target=2).by == ("target",)


def test_near_axes_are_suggested_and_others_listed():
    with pytest.raises(ParameterError, match=r"measurements\. Its axes besides p: n\.$"):
        forecast(SIZES, 8, theta=1)
    wide = Measurements(p=SIZES.p, theta=SIZES.axes["n"], time=SIZES.time)
    with pytest.raises(ParameterError, match=r"Did you mean theta\?$"):
        forecast(wide, 8, thet=1)
