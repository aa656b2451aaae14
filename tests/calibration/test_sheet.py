"""`parcast.calibration.sheet`: what a person sees of a calibration."""

from dataclasses import replace

import pytest

from parcast.calibration.sheet import interval_words
from parcast.show.terminal import Page, lay_out
from tests.calibration.calibrated import INTERRUPTED, measured


def answer(calibration, width=80, **more):
    return lay_out(calibration.to_sheet(**more), Page(width=width))[0]


def test_what_was_interrupted_says_so():
    lines = answer(INTERRUPTED)
    assert lines[0] == "node7: measured until interrupted"
    assert "host        node7: A processor, 8 cores" in lines
    assert not any("not converged" in line for line in lines)
    nothing = answer(replace(INTERRUPTED, measured=()))
    assert nothing[:3] == [lines[0], "", "host        node7: A processor, 8 cores"]


@pytest.mark.parametrize(
    ("lower", "upper", "words"),
    [
        (0.9e-6, 1.1e-6, ("1.0 us", "0.90 to 1.1")),
        (0.04e-6, 9e-6, ("1.0 us", "0.040 to 9.0")),
        (0.0, 2e-6, ("1.0 us", "0 to 2.0")),
        (1e-6, 1.00001e-6, ("1 us", "")),
        (1e-6, 1e-6, ("1 us", "")),
        (0.5e-6, float("inf"), ("1 us", "")),
    ],
)
def test_an_interval_needs_two_ends(lower, upper, words):
    each = replace(measured("network.latency", 1e-6, "time"), lower=lower, upper=upper)
    assert interval_words(each) == words
