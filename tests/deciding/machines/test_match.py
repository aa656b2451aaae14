"""`parcast.match`: the choice, its probabilities against closed forms, and what it refuses."""

import inspect
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from parcast.deciding.goals.plan import plan
from parcast.deciding.machines.drawn import SHARED
from parcast.deciding.machines.match import match
from parcast.descriptions.amount import NORMAL_90
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import read_machine
from parcast.errors import FitFailed, ParameterError
from parcast.forecasting.forecast import forecast
from parcast.forecasting.request import time_kept
from parcast.prediction.predict import predict
from parcast.show.warning import gathered
from parcast.timings.measurements import Measurements
from parcast.timings.tables.files import read_measurements

EXAMPLE = Path(__file__).parents[3] / "examples" / "matching"
P = [1, 2, 4, 8, 16, 32, 64]


@pytest.fixture(scope="module")
def runs():
    return read_measurements(EXAMPLE / "times.csv")


@pytest.fixture(scope="module")
def machines():
    return [read_machine(EXAMPLE / f"{name}.toml") for name in ("t3e", "sp", "o2000")]


def machine(name, rate, **keys):
    return Machine(name=name, compute={"rate": rate}, **keys)


def program(work="8 Tflop", serial="0.1 Tflop"):
    return Program(
        name="a program", phase=[{"law": "spmd", "compute": {"parallel": work, "serial": serial}}]
    )


# the worked example


def test_the_least_times_are_those_of_the_measured_curves(runs):
    # In et al., c. 2000: T3E at 32, speedup 14.42; SP at 16, 9.22; O2000 at 16, 10.82.
    found = {x.machine: x for x in match(runs).candidates}
    assert list(found) == ["T3E", "O2000", "SP"]
    for name, p, time, speedup in (
        ("T3E", 32, 1.182, 14.42),
        ("SP", 16, 11.98, 9.22),
        ("O2000", 16, 10.01, 10.82),
    ):
        x = found[name]
        assert x.best_p == p
        assert x.time[x.chosen] == pytest.approx(time)
        assert x.efficiency[x.chosen] * p == pytest.approx(speedup, abs=0.005)


def test_the_cheapest_machine_within_a_time(runs, machines):
    told = match(runs, machines, goal="cost", within="12 s")
    assert [(x.machine, x.best_p) for x in told.candidates] == [
        ("T3E", 2),
        ("O2000", 16),
        ("SP", 16),
    ]
    t3e = told.best
    assert t3e.cost[t3e.chosen] == pytest.approx(600 * 2 * 9.002 / 3600)
    o2000 = told.candidates[1]
    assert o2000.cost[0] == pytest.approx(180 * 108.3 / 3600)  # a whole node of two


def test_the_most_efficient_count_is_the_smallest_that_is_fast_enough(runs):
    told = match(runs, goal="efficiency")
    assert {x.best_p for x in told.candidates} == {1}
    assert any("most efficient p is usually the smallest" in text for text in told.warnings)
    hurried = match(runs, goal="efficiency", within="16 s")
    assert [(x.machine, x.best_p) for x in hurried.candidates if x.fits] == [
        ("T3E", 2),
        ("O2000", 16),
        ("SP", 16),
    ]
    evens = match(runs, goal="efficiency", within="16 s", certainty=0.5)
    assert [(x.machine, x.best_p) for x in evens.candidates][:2] == [("T3E", 2), ("O2000", 8)]
    t3e = hurried.candidates[0]
    assert t3e.efficiency[t3e.chosen] == pytest.approx(17.04 / 2 / 9.002)


def test_an_interval_that_is_wide_is_told_of_the_machine_with_the_widest(runs, machines):
    told = match(runs, machines, p=[500])
    wide = [text for text in told.warnings if "The 90% interval at p = 500 spans" in text]
    assert any(text.startswith("T3E: ") for text in wide)
    shown = [text for text in gathered(told.to_sheet()).shown if text.kind == "wide interval"]
    assert shown == [max(wide, key=lambda text: text.size)]


# probabilities


def widths(told, name):
    x = next(x for x in told.candidates if x.machine == name)
    i = x.chosen
    return np.log(x.time[i]), np.log(x.upper[i] / x.time[i]) / NORMAL_90


def test_the_probability_of_being_best_is_that_of_two_log_normal_times():
    runs = Measurements(
        p=[1, 2, 4, 8] * 2, time=[100, 52, 28, 16, 110, 57, 30, 17], machine=["A"] * 4 + ["B"] * 4
    )
    told = match(runs, p=[32])
    (a, sa), (b, sb) = widths(told, "A"), widths(told, "B")
    apart = np.sqrt(sa**2 + sb**2 - 2 * SHARED * sa * sb)
    best = {x.machine: x.best for x in told.candidates}
    # the intervals are a little longer upwards
    assert best["A"] == pytest.approx(ndtr((b - a) / apart), abs=0.04)
    assert best["A"] + best["B"] == pytest.approx(1)


def test_the_probability_that_limits_hold_is_that_of_the_interval():
    runs = Measurements(p=[1, 2, 4, 8], time=[100, 52, 28, 16], machine="A")
    told = match(runs, p=[8, 32, 64], within=5.0)
    x = told.candidates[0]
    for i in range(3):
        end = x.upper[i] if x.time[i] < 5.0 else x.lower[i]
        width = abs(np.log(end / x.time[i])) / NORMAL_90
        assert x.holds[i] == pytest.approx(ndtr(np.log(5.0 / x.time[i]) / width), abs=0.005)


def test_what_is_uncertain_of_the_program_does_not_blur_the_order():
    pair = [machine("A", "1 Gflop/s"), machine("B", "0.99 Gflop/s")]
    told = match(program("8 Tflop +- 50%"), pair, p=[16], law_error=False)
    assert [x.best for x in told.candidates] == [1.0, 0.0]
    assert told.candidates[0].upper[0] > 1.2 * told.candidates[0].time[0]


def test_without_uncertainty_the_best_is_certain_and_equals_share():
    pair = [machine("A", "1 Gflop/s"), machine("B", "1 Gflop/s"), machine("C", "0.5 Gflop/s")]
    told = match(program(), pair, p=[4], law_error=False)
    assert [x.best for x in told.candidates] == [0.5, 0.5, 0.0]
    assert any("No parameter has an uncertainty" in x for x in told.warnings)


def test_the_error_of_the_law_is_partly_that_on_other_machines():
    pair = [machine("A", "1 Gflop/s"), machine("B", "0.9 Gflop/s")]
    told = match(program(), pair, p=[16])
    wrong = np.log(told.candidates[0].upper[0] / told.candidates[0].time[0])
    apart = wrong / NORMAL_90 * (2 * (1 - SHARED)) ** 0.5
    best = told.candidates[0].best
    assert best == pytest.approx(ndtr(np.log(1 / 0.9) / apart), abs=0.02)


def test_times_are_those_of_predict_and_the_interval_is_nearly_its():
    one = machine("A", "1 Gflop/s +- 10%")
    told, expected = match(program(), [one], p=P), predict(program(), one, p=P)
    x = told.candidates[0]
    assert x.time == pytest.approx(expected.time)
    assert x.efficiency == pytest.approx(expected.efficiency)
    assert x.lower == pytest.approx(expected.lower, rel=0.01)
    assert x.upper == pytest.approx(expected.upper, rel=0.01)


def test_an_uncertain_price_makes_the_cost_uncertain():
    pair = [
        machine("A", "1 Gflop/s", price={"processor_hour": "1 +- 30%"}),
        machine("B", "1 Gflop/s", price={"processor_hour": 1.05}),
    ]
    told = match(program(), pair, p=[4], goal="cost", law_error=False)
    a = told.candidates[0]
    assert a.machine == "A"
    assert a.cost_upper[0] == pytest.approx(1.3 * a.cost[0], rel=0.02)
    assert 0.55 < a.best < 0.75


# limits


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize("certainty", [0.5, 0.9])
@pytest.mark.parametrize(
    ("within", "budget"), [(1.0, 100.0), (1.0, 2.0), (50.0, 1.0), (11.0, 2.5)]
)
def test_what_is_said_to_fit_does_fit(runs, machines, certainty, within, budget):
    told = match(runs, machines, within=within, budget=budget, certainty=certainty)
    assert told.best is None
    said = told.verdict[-1]
    assert said.startswith("Reachable: ")
    time = re.search(r"within ([0-9.]+ m?s)", said)
    cost = re.search(r"a cost of ([0-9.]+)", said)
    if "changing one of them is not enough" in said:
        ways = [{"within": time[1], "budget": float(cost[1])}]
    else:
        ways = [{"within": time[1], "budget": budget}] if time else []
        ways += [{"within": within, "budget": float(cost[1])}] if cost else []
    assert ways
    for way in ways:
        assert match(runs, machines, **way, certainty=certainty).best is not None


def test_what_is_said_to_fit_does_fit_where_the_price_is_uncertain_and_times_are_long():
    one = machine("A", "1 Gflop/s +- 20%", price={"processor_hour": "1 +- 30%"})
    for within, budget in ((3600.0, 1e9), (1e5, 1.0), (60.0, 0.1)):
        limits = {"within": within, "budget": budget}
        told = match(program(), [one], p=[1], certainty=0.95, **limits)
        said = told.verdict[-1]
        time = re.search(r"within ([0-9.]+ (?:h|min|s))", said)
        cost = re.search(r"a cost of ([0-9.]+)", said)
        limits |= {"within": time[1]} if time else {}
        limits |= {"budget": float(cost[1])} if cost else {}
        assert match(program(), [one], p=[1], certainty=0.95, **limits).best is not None


def test_a_failure_says_which_limit_by_how_much(runs, machines):
    told = match(runs, machines, within=1.0, budget=6.0)
    assert told.verdict[0] == (
        "T3E at best (p = 32) takes 1.27 s, 26% more than 1 s, and costs 6.72, 12% more than 6 "
        "(at the required probability of 90%)."
    )
    assert all(x.best is None for x in told.candidates)


@pytest.mark.parametrize("efficiency", [0.9, 0.999])
def test_one_processor_is_efficient_by_definition_however_wrong_the_law_may_be(efficiency):
    every = [machine("A", "1 Gflop/s"), machine("B", "2 Gflop/s")]
    told = match(program(), every, p=[1, 2, 4], goal="efficiency", efficiency=efficiency)
    assert [(x.best_p, x.holds[0], x.best) for x in told.candidates] == [(1, 1.0, 0.5)] * 2
    failed = match(program(), every, p=[2, 4], efficiency=efficiency)
    assert failed.best is None
    assert f"and not of {100 * efficiency:g}% (at" in failed.verdict[0]
    assert f"efficiency of at least {100 * efficiency:g}%" in str(told)


def test_counts_beyond_a_machine_are_left_out_and_told(runs, machines):
    told = match(runs, machines, p=[64, 128, 256, 512], beyond=True)
    assert told.candidates[-1].p.max() <= 512
    assert (
        "O2000 has 64 processors; larger counts are left out: p = 128, 256, 512." in told.warnings
    )
    assert "O2000" in match(runs, machines, p=[128], beyond=True).left_out


# machines without runs


def test_a_machine_without_runs_is_projected_by_its_rate(runs):
    sp, new = machine("SP", "100 Mflop/s"), machine("new", "300 Mflop/s +- 20%")
    told = match(runs, [sp, new], p=[1, 16])
    x = next(x for x in told.candidates if x.machine == "new")
    assert x.time == pytest.approx([110.5 / 3, 11.98 / 3])
    assert x.upper[1] / x.time[1] > 1.5
    assert "The time on new is projected from SP." in told.warnings


# what comes out


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"budget": "many"}, "budget must be a number above 0, got 'many'"),
        ({"budget": 0}, "budget must be a number above 0, got 0"),
        ({"certainty": 0.3}, r"certainty must lie in \[0.5, 1\), got 0.3"),
        ({"p": ["many"]}, "p must be numbers"),
        ({"efficiency": 2}, r"efficiency must lie in \(0, 1\], got 2"),
        ({"p_is": "threads"}, 'p_is must be "cores" or "nodes"'),
        ({"machines": [3]}, "must be a Machine, got int. Give the path"),
        ({"prices": {"T3E": -1}}, "prices must be numbers above 0 and up to .*, got -1 for T3E"),
        ({"machines": [Machine(name="A"), Machine(name="A")]}, "different names, got 'A' twice"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(runs, asked, says):
    with pytest.raises(ParameterError, match=says):
        match(runs, **asked)


def test_prices_in_two_currencies_count_only_where_costs_do(runs):
    machines = [
        Machine(name=x, price={"processor_hour": 1, "currency": f"of {x}"}) for x in ("SP", "T3E")
    ]
    told = match(runs, machines)
    assert all(x.cost is None for x in told.candidates if x.machine in ("SP", "T3E"))
    assert "Prices are in of SP, of T3E: costs are left out." in " ".join(told.warnings)
    for costs in ({"goal": "cost"}, {"budget": 5}):
        with pytest.raises(ParameterError, match="must have the same currency on all machines"):
            match(runs, machines, **costs)


def test_where_no_machine_has_an_answer_that_is_said():
    runs = Measurements(p=[1, 1], time=[3, 5], machine=["A", "B"])
    with pytest.raises(FitFailed, match=r"No machine can be ranked\. A: All times are at p = 1"):
        match(runs)


def test_the_interval_of_a_forecast_count_is_that_of_the_forecast_on_both_sides():
    counts = [1, 2, 4, 8, 16, 32]
    p, bad = np.tile(counts, 6), np.repeat(np.arange(6) > 3, 6)
    names = np.repeat([f"M{i}" for i in range(6)], 6)
    donors = Measurements(p=p, time=90 / p + 10 * bad, machine=names)
    here = Measurements(p=[1], time=[100.0], machine="here")
    (found,) = match(here, p=[16], donors=donors).candidates
    told = forecast(here, 16, donors=donors)
    ends = [told.lower.item(), told.time.item(), told.upper.item()]
    assert [*found.lower, *found.time, *found.upper] == pytest.approx(ends, rel=0.02)
    assert ends[2] / ends[1] > 1.3 * ends[1] / ends[0]


def test_limits_are_met_with_a_probability_of_nine_in_ten_unless_another_is_asked_for(runs):
    asked = {"goal": "cost", "within": 2.5, "prices": {"T3E": 1, "SP": 1, "O2000": 1}}
    told = match(runs, **asked)
    assert told.certainty == 0.9
    assert told.best.holds[told.best.chosen] >= 0.9
    assert "meets the limits with a probability of" in str(told)
    even = match(runs, **asked, certainty=0.5).best
    assert 0.5 <= even.holds[even.chosen] < 0.9
    assert match(runs).certainty is None


def test_a_machine_that_does_not_get_faster_is_not_the_most_efficient():
    runs = Measurements(
        p=[1, 2, 4, 8] * 2, time=[100, 55, 32, 20, 100, 92, 88, 86], machine=["A"] * 4 + ["B"] * 4
    )
    found = {x.machine: x for x in match(runs, goal="efficiency", within="95 s").candidates}
    assert (found["A"].best_p, found["B"].best_p) == (2, 4)
    for name, time in (("A", 55), ("B", 176)):
        x = found[name]
        assert x.efficiency[x.chosen] == pytest.approx(100 / (2 * time), rel=0.02)
    assert match(runs, goal="efficiency", within="95 s").best.machine == "A"


# what an answer is worth

FALLING = {"p": [1, 2, 4, 8, 16, 32], "time": [1000, 520, 280, 160, 101, 72.0]}


def test_nothing_is_chosen_where_there_is_no_forecast_unless_asked():
    asked = {"p": [64, 1024, 2**20], "budget": 1e9, "prices": {"here": 1}}
    told = match(FALLING, **asked)
    (x,) = told.candidates
    assert np.all(x.upper / x.lower <= 30.5)
    assert 2**20 not in x.p
    (said,) = [text for text in told.warnings if "no forecast at p = 1048576" in text]
    assert "or allow them: beyond=True." in said
    assert "The last useful count is p = 1024." in said
    (allowed,) = match(FALLING, **asked, beyond=True).candidates
    assert allowed.p.tolist() == [64, 1024, 2**20]
    with pytest.raises(FitFailed, match="here: There is no forecast at p = 1048576"):
        match(FALLING, p=[2**20])
    first = match(FALLING, p=[2**20], beyond=True).warnings[0]
    assert first.startswith("here: No forecast at p = 1048576: the 90% interval spans a factor of")


def test_speedups_have_no_cost_and_rank_machines_only_if_over_one_run(tmp_path):
    (tmp_path / "s.csv").write_text("machine,p,speedup\nA,1,1\nA,4,3.6\nB,1,1\nB,4,3\n")
    speedups, prices = read_measurements(tmp_path / "s.csv"), {"A": 1.0, "B": 1.0}
    told = match(speedups, prices=prices)
    assert [x.cost for x in told.candidates] == [None, None]
    assert "The order holds only if the speedups on all machines are over" in " ".join(
        told.warnings
    )
    assert "The order holds" not in " ".join(match(speedups, goal="efficiency").warnings)
    with pytest.raises(
        ParameterError, match="goal must be combined with times of runs, got speed"
    ):
        match(speedups, goal="cost", prices=prices)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"upto": [4, 8]}, r"upto must be a number, got \[4, 8\]. Give one count."),
        ({"upto": 2.5}, "upto must be a whole number of at least 1, got 2.5"),
        ({"beyond": "yes"}, "beyond must be True or False, got 'yes'"),
    ],
)
def test_what_is_no_count_or_no_choice_is_refused(given, says):
    with pytest.raises(ParameterError, match=says):
        match(FALLING, **given)


def test_its_arguments_are_those_of_a_plan():
    own, planned = (inspect.signature(x).parameters for x in (match, plan))
    assert {name for name, x in own.items() if x != planned.get(name)} == {"goal", "d"}
    assert planned.keys() <= own.keys()


@pytest.mark.parametrize("certainty", [0.5, 0.9, 0.99])
def test_the_limit_to_request_is_that_of_a_plan(certainty):
    told = match(FALLING, p=[64], within="1 h", certainty=certainty)
    request, x = told.best.request, told.best
    planned = plan(FALLING, p=[64], within="1 h", certainty=certainty).recommended
    assert (request.clock, request.certainty) == (planned.clock, max(0.95, certainty))
    kept = time_kept(float(x.time[0]), float(x.upper[0]), request.certainty)
    assert kept * 0.99 <= request.time_limit <= kept * 1.01 + 60
    assert request.time_limit % 60 == 0
    assert request.core_hours == pytest.approx(64 * x.time[0] / 3600)
    row = next(told.ranking())
    assert row["time_limit"] == f"00:{request.time_limit / 60:02.0f}:00"
    assert row["core_hours_lower"] < row["core_hours"] < row["core_hours_upper"]
    assert (
        f"wall-time limit {row['time_limit']} (kept with {request.certainty:.0%} certainty)"
        in str(told)
    )


tables = st.lists(
    st.tuples(
        st.sampled_from(["A", "B", "C"]),
        st.sampled_from([1, 2, 3, 4, 8, 64]),
        st.floats(0.01, 1e4),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=10)
@given(
    rows=tables,
    p=st.none() | st.lists(st.sampled_from([1, 2, 5, 64, 10**6]), min_size=1, max_size=3),
    beyond=st.booleans(),
)
def test_any_small_table_of_runs_is_ranked_or_refused(rows, p, beyond):
    names, counts, times = zip(*rows, strict=True)
    runs = Measurements(machine=list(names), p=list(counts), time=list(times))
    try:
        told = match(runs, p=p, beyond=beyond)
    except FitFailed:  # no machine has two counts or a useful one
        return
    ranked = {x.machine for x in told.candidates}
    assert ranked | set(told.left_out) == set(names)
    for x in told.candidates:
        assert np.all((x.lower <= x.time) & (x.time <= x.upper))
        if not beyond:
            assert np.all(x.measured | (x.upper / x.lower <= 30 * (1 + 1e-9)))
    json.dumps(told.to_document(), allow_nan=False)
    assert str(told)


extremes = st.sampled_from([1e-30, 1.0, 2.0, 1e15, 1e30])


@given(
    times=st.lists(
        st.tuples(st.sampled_from("AB"), st.sampled_from([1, 2, 4, 10**9]), extremes),
        min_size=2,
        max_size=8,
    ),
    prices=st.tuples(extremes, extremes),
    goal=st.sampled_from(["time", "cost", "efficiency"]),
    within=st.none() | extremes,
    p=st.none() | st.just([1, 64, 1000]),
)
@example(
    times=[("A", 1, 1e15), ("A", 2, 1.0), ("B", 1, 1.0), ("B", 2, 1e15)],
    prices=(1e30, 1.0),
    goal="cost",
    within=None,
    p=[1, 64, 1000],
)
def test_amounts_at_the_edges_are_ranked_without_a_warning_of_numpy(
    times, prices, goal, within, p
):
    names, counts, seconds = zip(*times, strict=True)
    runs = Measurements(machine=list(names), p=list(counts), time=list(seconds))
    priced = {name: x for name, x in zip("AB", prices, strict=True) if name in names}
    try:
        told = match(runs, prices=priced, goal=goal, within=within, p=p, beyond=True)
    except FitFailed:
        return
    for x in told.candidates:
        assert np.isfinite([x.time, x.lower, x.upper, x.cost, x.cost_lower, x.cost_upper]).all()
    assert str(told)


def test_a_column_of_one_callpath_is_one_program():
    runs = {"p": [1, 2, 4], "time": [8.0, 4.2, 2.3], "callpath": ["sort"] * 3}
    assert [row["p"] for row in match(runs).rows()] == [1, 2, 4]
    with pytest.raises(ParameterError, match="got several values of callpath"):
        match({name: 2 * values for name, values in runs.items()} | {"callpath": list("aaabbb")})


def test_values_of_a_parameter_can_be_ranked_as_machines():
    runs = Measurements(p=[1, 2, 2, 4], time=[8, 5, 4, 3], threads=[1, 1, 2, 2])
    with pytest.raises(ParameterError, match=r"Rank them as machines with .*'machine': 'threads'"):
        match(runs)


def test_scaling_is_refused_for_a_program():
    one = machine("A", "1 Gflop/s")
    with pytest.raises(ParameterError, match="scaling must be combined with runs, got a program"):
        match(program(), [one], p=[1], scaling="weak")
