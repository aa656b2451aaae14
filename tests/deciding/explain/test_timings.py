"""Explained times against series whose parts are known, and as users see them."""

import json

import numpy as np
import pytest

import parcast
from parcast.errors import ParameterError

TIMES = "examples/nas_bt/times.csv"


def series_of(p, time, **more):
    return parcast.explain({"p": p, "time": time}, **more).series[0]


def test_intervals_hold_the_parts_of_made_up_series():
    random = np.random.default_rng(0)
    held = []
    for _ in range(20):
        p = 2.0 ** np.arange(random.integers(4, 8))
        terms = [
            np.full_like(p, random.uniform(0, 5)),
            100 / p,
            random.uniform(0, 1) * [np.log2(p), p, 0 * p][random.integers(3)],
        ]
        noise = random.normal(0, 0.02, (3, len(p)))
        time = (sum(terms) * np.exp(noise)).ravel()
        told = series_of(np.tile(p, 3), time).parts
        true = np.array([terms[1][-1], terms[0][-1], terms[2][-1]]) / sum(terms)[-1]
        held += ((told.lower[0] - 1e-9 <= true) & (true <= told.upper[0] + 1e-9)).tolist()
        assert told.share.sum(axis=1) == pytest.approx(np.ones(3))
    assert np.mean(held) >= 0.8


def test_serial_fractions_are_those_of_karp_and_flatt():
    p = np.array([2.0, 4, 8, 16])
    serial = series_of(p, 100 * (0.2 + 0.8 / (p / 2))).serial
    measured = ~serial.is_forecast
    assert serial.fraction[measured] == pytest.approx(np.full(3, 0.2))
    assert np.all(serial.lower < serial.fraction)
    assert serial.p.tolist() == [4, 8, 16, 32, 64]
    weak = series_of(p, [100.0] * 4, scaling="weak")
    assert weak.serial.fraction[:3] == pytest.approx(np.zeros(3))
    assert "Under weak scaling" in weak.warnings[0]


def test_less_work_saves_its_share():
    told = parcast.explain({"p": [1, 2, 4, 8], "time": [110, 60, 35, 22.5]}, what_if="serial/4")
    [less], [x] = told.what_if, told.series
    value, lower, upper = x.saving(less, 0)
    assert value == pytest.approx(0.75 * x.shares(0)["constant"][0])
    assert lower <= value <= upper
    assert "serial/4" in str(told)


def test_two_counts_are_answered_with_a_warning_and_several_series_are_apart(tmp_path):
    assert "measure a third" in series_of([1, 2], [100, 60]).warnings[0]
    told = parcast.explain(TIMES)
    assert {x.label for x in told.series} == {"sp2", "mesh", "crossbar"}
    for ending in ("csv", "json", "svg"):
        told.save(tmp_path / f"told.{ending}")
    document = json.loads((tmp_path / "told.json").read_text(encoding="utf-8"))
    assert {row["machine"] for row in document["serial_fractions"]} == {"sp2", "mesh", "crossbar"}
    for row in document["rows"]:
        assert row["shared"] + row["constant"] + row["growing"] == pytest.approx(1)
        assert row["constant_lower"] <= row["constant"] <= row["constant_upper"]


@pytest.mark.parametrize("what", ["serial", "serial/0", "all/2", "serial/nan", "serial/1.2.3", 3])
def test_what_is_no_part_is_refused(what):
    with pytest.raises(ParameterError, match="must be serial, shared or growing, a slash"):
        parcast.explain({"p": [1, 2], "time": [2, 1]}, what_if=[what])


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ([TIMES, "--what-if", "x/2"], 2, "--what-if must be serial, shared or growing"),
        ([TIMES, "-d", "3"], 2, "-d requires PROGRAM, but examples/nas_bt/times.csv is a table"),
        ([TIMES, "examples/btio/sp2.toml"], 2, "MACHINE requires PROGRAM"),
        ([TIMES, "examples/btio/program.toml"], 2, "explain needs TIMINGS or PROGRAM, got both"),
        (["examples/btio/program.toml"], 2, "one PROGRAM and one MACHINE must be given"),
        (["none.csv"], 3, "none.csv"),
    ],
)
def test_what_cannot_be_answered_is_said(parcast, words, status, says):
    said = parcast("explain", *words)
    assert (said.status, says in said.err) == (status, True), said.err


def test_two_counts_allow_constant_work_to_be_growing_work():
    p = np.array([16.0, 16, 64, 64])
    time = (100 / p + 0.02 * p) * [0.998, 1.002, 0.999, 1.001]
    parts = parcast.explain({"p": p, "time": time}, p=128).series[0].parts
    for i, count in enumerate((64, 128)):
        true = np.array([100 / count, 0, 0.02 * count]) / (100 / count + 0.02 * count)
        assert np.all(parts.lower[i] <= true + 1e-9)
        assert np.all(true <= parts.upper[i] + 1e-9)


def test_the_legend_says_that_parts_of_different_counts_are_of_different_fits():
    """Guards: constant work was "the same at each p", and 391 s at 8 but 364 s at 32."""
    told = parcast.explain({"p": [1, 2, 4, 8], "time": [7200, 3900, 2130, 1262]}, p=[8, 32])
    assert "shares: medians over the fits, for each p separately" in " ".join(str(told).split())


def test_time_of_stopped_runs_that_finished_ones_do_not_explain_is_growing_work():
    runs = parcast.Measurements(p=[1, 2, 4, 8], time=[100, 52, 28, 17])
    [told] = parcast.explain(runs.with_cut_off(p=16, time=62)).series
    assert told.p.tolist() == [8, 16, 32]
    shared = told.time * told.parts.share[:, 0]
    assert shared[1] < 0.6 * shared[0]  # falls as 1/p, although the time rises
    assert told.parts.lower[1, 2] > 0.8
    assert any("Runs at p = 16 were stopped" in x for x in told.warnings)
    [below] = parcast.explain(runs.with_cut_off(p=3, time=30)).series
    [without] = parcast.explain(runs).series
    assert below.parts.share.tolist() == without.parts.share.tolist()


def test_runs_that_do_not_separate_constant_from_growing_work_are_named():
    assert "do not separate constant" in series_of([1, 2, 4], [100, 52, 28]).warnings[0]
    assert not series_of([1, 2, 4, 8, 16], [100, 52, 28, 16, 10]).warnings
    assert not series_of([1, 2, 4, 8], [100, 50, 25, 12.5]).warnings
