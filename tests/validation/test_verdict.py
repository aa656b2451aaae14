"""The rule by intervals: a law holds only where its runs could have refused it."""

import pytest

from parcast.trials.disturbance import Counted
from parcast.trials.trial import SizedCase, Trial
from parcast.validation.comparison import Comparison
from parcast.validation.subject import Findings, Predicted, Rule
from parcast.validation.verdict import Quietness, points_allowed, verdict_of

RULE = Rule(chance=0.05, cases="point", remedy="Repeat")
CASE = SizedCase(n=100, p=2)


def points(n=6, *, extrapolated=True, half=1.2, off=(), runs=(1.0, 1.0), disturbed=0):
    """Comparisons predicted with 1 s; those numbered in `off` took 1.3 times their upper end."""
    return [
        Comparison(
            case=CASE,
            kind="",
            predictions={
                1: Predicted(
                    time=1.0, lower=1 / half, upper=half, facts={"extrapolated": extrapolated}
                )
            },
            counted=Counted(
                counting=tuple(
                    Trial(
                        case=CASE,
                        purpose="comparison",
                        turn=1,
                        launch=1,
                        repetition=k + 1,
                        seconds=1.3 * half if i in off else seconds,
                        observed=None,
                    )
                    for k, seconds in enumerate(runs)
                ),
                others=(),
                disturbed=disturbed,
            ),
            labels={},
            observed={},
        )
        for i in range(n)
    ]


@pytest.mark.parametrize(
    ("compared", "holds", "says"),
    [
        (points(), True, "6 of 6 medians are inside their intervals, as expected of a correct"),
        (points(half=1.55), True, "as expected of a correct law"),
        (points(half=1.6), None, "(median 625 ms to 1.6 s) that a wrong law would pass. Repeat"),
        (points(half=1.6, off=range(6)), False, "0 of 6 medians are inside their intervals. With"),
        (points(runs=(0.5, 1.0, 1.5)), None, "repeated runs differ by a factor of 3.0"),
        (points(1, half=1.5, off=[0]), None, "0 of 1 medians are inside their intervals, but"),
        (points(extrapolated=False), None, "no size or count is far from the calibrated ones"),
        (points(off=[0, 1, 2], half=1.5), False, "more than 2 are outside in less than 5%"),
        (points(off=[0, 1], half=1.5), True, "4 of 6 medians are inside their intervals, as"),
        ((), None, ""),
        (points(half=1.1, off=[0]), False, "n = 100, p = 2: predicted 1 s, took 1.43 s, more"),
        # Runs that scatter refuse a law only if all of them lie outside.
        (points(half=1.1, runs=(0.5, 1.2, 1.5)), None, "differ by a factor of 3.0"),
        (points(half=1.1, runs=(1.2, 2.0, 4.0)), False, "0 of 6 medians"),
    ],
)
def test_a_law_holds_only_where_it_could_have_been_refused(compared, holds, says):
    found = verdict_of(RULE, compared, Quietness())
    assert found.holds is holds
    assert says in found.text


def test_where_others_used_the_machine_nothing_is_refused():
    wrong, right = points(off=range(6), disturbed=2), points(disturbed=2)
    for busy, says in (
        (Quietness(calibration=True), "most of the runs it was calibrated with were disturbed"),
        (Quietness(comparison=True), "runs at half or more of the cases were disturbed"),
    ):
        found = verdict_of(RULE, right, busy)
        assert found.holds is None
        assert says in found.text
    never_idle = Quietness(calibration=True, comparison=True)
    assert verdict_of(RULE, right, never_idle).holds
    assert verdict_of(RULE, wrong, never_idle).holds is None
    assert (
        verdict_of(RULE, wrong, never_idle, Findings(objections=["it counts others"])).holds
        is False
    )


def test_points_outside_are_allowed_as_chance_has_them():
    assert [points_allowed(m, RULE) for m in (1, 2, 6, 20, 100)] == [1, 1, 2, 4, 15]
