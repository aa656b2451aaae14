"""`parcast.calibration.sheet`: what a person sees of a calibration."""

import math
from dataclasses import replace

import pytest

from parcast.calibration.sheet import interval_words
from parcast.show.terminal import Page, lay_out
from tests.calibration.calibrated import INTERRUPTED, WHOLE, measured


def answer(calibration, width=80, **more):
    return lay_out(calibration.to_sheet(**more), Page(width=width))[0]


def test_values_and_primitives_fit_a_usual_screen():
    lines = answer(WHOLE)
    assert lines[0] == "node7: measured in 62 s"
    assert max(map(len, lines)) <= 80
    assert "  latency                1.50 us  1.47 to 1.53    ping-pong" in lines
    assert "  bandwidth *          4.00 GB/s  3.70 to 4.32    ping-pong" in lines
    assert "broadcast  2 us*log2(p)    1.33 GB/s at p = 8        <1%  2, 4, 8" in lines
    assert any(line.startswith("*: not converged, its 90 % interval is wider") for line in lines)
    assert "MPI         MPICH 5.0.2; 16, 32 ranks share one core" in lines
    assert lines[-2].startswith("warning:    16 and 32 ranks share one core")


def test_a_narrow_page_has_one_value_after_another():
    lines = answer(WHOLE, 45)
    assert max(map(len, lines)) <= 45
    assert "  latency: 1.50 us (1.47 to 1.53)" in lines
    assert "  memory_bandwidth: 9.50 GB/s" in lines
    assert "    (9.31 to 9.69)" in lines
    assert "  barrier (p = 2, 4, 8): 1.5 us*log2(p)" in lines


def test_what_was_interrupted_says_so():
    lines = answer(INTERRUPTED)
    assert lines[0] == "node7: measured until interrupted"
    assert "host        node7: A processor, 8 cores" in lines
    assert not any("not converged" in line for line in lines)
    nothing = answer(replace(INTERRUPTED, measured=()))
    assert nothing[:3] == [lines[0], "", "host        node7: A processor, 8 cores"]


def test_figures_of_files_are_told():
    told = {"network.latency": "2 us, osu_latency", "network.bandwidth": "1 GB/s, osu_bw"}
    lines = answer(WHOLE, taken=told)
    assert "from files  network.latency = 2 us, osu_latency" in lines
    assert "            network.bandwidth = 1 GB/s, osu_bw" in lines


def test_one_core_is_one():
    one = replace(WHOLE, host=replace(WHOLE.host, cores=1))
    assert any("A processor, 1 core, load 0.25" in line for line in answer(one))


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


def test_a_value_of_one_launch_says_so():
    once = measured("network.latency", 1e-6, "time", launches=1)
    assert interval_words(replace(once, lower=math.nan, upper=math.nan)) == ("1 us", "one launch")
    told = replace(once, lower=math.nan, upper=math.nan, launches=0)
    assert interval_words(told) == ("1 us", "")
