"""`parcast.plan`: what is recommended meets the goals, nothing better does; what is needed."""

import json
from dataclasses import replace

import numpy as np
import pytest

import parcast as pc
from parcast.deciding.goals.configurations import front_of
from parcast.deciding.goals.goals import cost_limit
from parcast.deciding.goals.needed import least_factor
from parcast.deciding.goals.sheet import _sure
from parcast.deciding.goals.usable_counts import rule_of
from parcast.errors import FitFailed, ParameterError
from parcast.forecasting.request import time_kept, wall_time_limit
from parcast.timings.measurements import Measurements

RUNS = pc.Measurements(
    p=[1, 1, 2, 4, 4, 8, 16, 16],
    time=[40000, 40400, 20500, 10800, 10900, 5900, 3400, 3370],
)
PROGRAM = pc.Program(
    phase=[
        {
            "law": "spmd",
            "cycles": 1000,
            "compute": {"parallel": "60 s", "serial": "0.2 s +- 10%"},
            "io": {"kind": "synchronous", "volume": "200 MB"},
        }
    ]
)
MACHINE = pc.Machine(
    name="cluster",
    processors=512,
    network={"bandwidth": "1 GB/s", "latency": "2 us"},
    storage={"servers": 4, "bandwidth": "200 MB/s"},
    node={"processors": 48},
    price={"processor_hour": 0.02, "currency": "EUR"},
)


def longest(told, i):
    """The longest time by which a configuration meets its goals, worked out by hand. [s]."""
    x, goals = told.configuration(i), told.goals
    limits = []
    if goals.within is not None:
        limits.append(goals.within)
    if goals.budget is not None:
        limits.append(goals.budget.amount * x.time / x.cost)
    if goals.efficiency is not None:
        reached = x.of_charged if goals.is_default else x.efficiency
        limits.append(x.time * reached / goals.efficiency)
    return min(limits)


@pytest.mark.parametrize(
    "goals",
    [
        {"within": "40 min"},
        {"within": 2400.0, "budget": "30 core-h"},
        {"budget": "16 core-h"},
        {"efficiency": "70%"},
        {"within": "2 h", "efficiency": 0.6, "certainty": 0.95},
        {},
    ],
)
@pytest.mark.parametrize("nodes", [{}, {"cores_per_node": 6}])
def test_the_recommended_one_meets_the_goals_and_no_better_one_does(goals, nodes):
    told = pc.plan(RUNS, **goals, **nodes)
    best, sure = told.recommended, told.goals.certainty
    every = [told.configuration(i) for i in range(len(told.weighed.table))]
    kept = [time_kept(x.time, x.upper, sure) for x in every]
    meets = [t <= longest(told, i) * (1 + 1e-9) for i, t in enumerate(kept)]
    assert meets[told.place]
    assert best.sure >= sure - 1e-9
    if "within" in goals:
        assert best.cost <= min(x.cost for x, ok in zip(every, meets, strict=True) if ok) * 1.00001
    else:
        least = min(t for t, ok in zip(kept, meets, strict=True) if ok)
        assert kept[told.place] <= 1.05 * least * (1 + 1e-9)
    limit = wall_time_limit(time_kept(best.time, best.upper, 0.95))
    assert best.time_limit == min(limit, told.goals.within or limit)
    assert best.clock in told.answer


@pytest.mark.parametrize("goals", [{}, {"budget": "100 node-h"}, {"within": "1 h"}])
def test_none_is_recommended_that_is_slower_and_dearer_than_another(goals):
    """Guards: 9 cores of a node were recommended, and all 48 of it took half the time."""
    p = np.array([4, 9, 16, 25, 36, 49, 64, 81, 100])
    runs = pc.Measurements(p=p, time=2 + 45 / p)
    told = pc.plan(runs, **goals, cores_per_node=48)
    best, table = told.recommended, told.weighed.table
    better = (table.time < best.time) & (table.cost <= best.cost) & table.is_told
    assert not better.any()
    assert best.of_charged >= 0.5 > best.efficiency
    assert best.of_charged == pytest.approx(table.cost.min() / best.cost)
    assert "idle processors" not in str(told)
    assert "efficiency: of the cores charged, over the fewest nodes" in str(told)


def test_the_forecast_is_that_of_forecast():
    told = pc.plan(RUNS, within="40 min").recommended
    same = pc.forecast(RUNS, [int(told.p)])
    assert (told.time, told.lower, told.upper) == pytest.approx(
        (same.time[0], same.lower[0], same.upper[0])
    )
    assert told.cost == pytest.approx(told.p * told.time / 3600)


def test_nodes_are_charged_in_full_and_filled_by_default():
    told = pc.plan(RUNS, p=7, cores_per_node=3, efficiency=0.5)
    assert told.recommended.nodes == 3
    assert told.recommended.cost == pytest.approx(9 * told.recommended.time / 3600)
    assert "p = 7 does not fill 3 nodes of 3 cores; all 9 are charged" in str(told)
    filled = pc.plan(RUNS, within="40 min", cores_per_node=12)
    assert filled.recommended.p % 12 == 0
    nodes = pc.plan(RUNS, p_is="nodes", cores_per_node=48, budget="5000 core-h", efficiency=0.5)
    best = nodes.recommended
    assert (best.cores, best.unit) == (48 * best.nodes, "core-hours")
    assert best.cost == pytest.approx(48 * best.nodes * best.time / 3600)


def test_what_a_budget_counts():
    alone = pc.plan(RUNS, budget=20)
    assert alone.goals.budget.unit == "core-hours"
    assert pc.plan(RUNS, budget=20, p_is="nodes").goals.budget.unit == "node-hours"
    priced = pc.plan(RUNS, budget=5, prices={"here": 0.2})
    assert priced.recommended.cost == pytest.approx(
        0.2 * priced.recommended.p * priced.recommended.time / 3600
    )
    with pytest.raises(ParameterError, match="price must be given for here, because the budget"):
        pc.plan(RUNS, budget="5 EUR")
    with pytest.raises(ParameterError, match=r"budget must be in EUR.*got USD"):
        pc.plan(PROGRAM, MACHINE, budget="5 USD")
    with pytest.raises(ParameterError, match="cores_per_node must be given, because node-hours"):
        pc.plan(RUNS, budget="5 node-h")
    with pytest.raises(ParameterError, match=r"cores_per_node must agree .* 48, got 36"):
        pc.plan(PROGRAM, MACHINE, within="1 h", cores_per_node=36)


@pytest.mark.parametrize("bad", ["0,05 EUR", "1,5", "5,00", "0,050 EUR", "1.000,5 EUR"])
def test_a_decimal_comma_is_no_group_of_thousands(bad):
    with pytest.raises(ParameterError, match="budget must have commas between groups of three"):
        pc.plan(RUNS, budget=bad)
    assert cost_limit("1,005,000.5 EUR").amount == 1005000.5


def test_where_p_counts_nodes_a_machine_has_so_many_nodes():
    machine = pc.Machine(name="A", processors=480)
    runs = RUNS.with_columns(machine="A")
    told = pc.plan(runs, [machine], p_is="nodes", cores_per_node=48, within="10 h", beyond=True)
    assert told.weighed.table.cores.max() == 480
    assert pc.plan(RUNS, p_is="nodes", p=[8], within="10 h").recommended.nodes == 8
    with pytest.raises(FitFailed, match="has 2 nodes, fewer"):
        pc.plan(runs.select(p=[4, 8, 16]), [machine], p_is="nodes", cores_per_node=240)
    with pytest.raises(ParameterError, match="p_is must be cores for a described program"):
        pc.plan(PROGRAM, MACHINE, p_is="nodes")


def test_only_the_budget_takes_a_price_at_its_upper_end():
    def told(price, budget):
        machine = pc.Machine(name="A", price={"processor_hour": price, "currency": "EUR"})
        return pc.plan(RUNS.with_columns(machine="A"), [machine], p=[8], budget=budget)

    sure, unsure = told("0.5", "10 EUR"), told("0.5 +- 20%", "12 EUR")
    assert unsure.weighed.table.cost == pytest.approx(sure.weighed.table.cost)
    assert unsure.weighed.limit("budget") == pytest.approx(sure.weighed.limit("budget"))


def test_nodes_stand_where_a_machine_has_them_and_cores_where_it_has_none():
    alone = pc.Machine(
        name="alone", processors=64, price={"processor_hour": 0.01, "currency": "EUR"}
    )
    work = pc.Program(phase=[{"law": "spmd", "compute": {"parallel": "6000 s"}}])
    told = pc.plan(work, [MACHINE, alone], within="30 s")
    nodes = {row["machine"]: row["nodes"] for row in told.rows()}
    assert (nodes["alone"], told.recommended.machine) == (None, "cluster")
    assert told.recommended.nodes == -(-told.recommended.p // 48)
    assert f"ask for {told.recommended.nodes:.0f} nodes" in told.answer
    assert told.ways.asked == "cores"
    assert told.ways.cost == pytest.approx(told.weighed.table.p)
    slow = pc.plan(work, [MACHINE, alone], within="30 min").recommended
    assert (slow.machine, slow.nodes) == ("alone", None)


def test_what_is_needed_is_enough_as_it_is_printed():
    told = pc.plan(RUNS, within="300 s", p_is="nodes", p=[8, 16])
    times = float(told.needed_of_runs[-1].split(" must be ")[1].split(" times")[0])
    assert times >= float(told.weighed.excess[told.weighed.nearest()])
    faster = RUNS.time / times
    again = pc.plan({"p": RUNS.p, "time": faster}, within="300 s", p_is="nodes", p=[8, 16])
    assert again.recommended is not None


@pytest.mark.filterwarnings("ignore::parcast.timings.notes.ImportNote")
def test_a_column_of_nodes_counts_nodes(file):
    path = file("nodes,time_s\n1,36000\n2,18500\n4,9600\n8,5200\n", "n.csv")
    told = pc.plan(path, within="2 h")
    assert (told.node_size.p_is, told.recommended.unit) == ("nodes", "node-hours")
    with pytest.raises(ParameterError, match="cores_per_node must be given, because p counts"):
        pc.plan(path, within="2 h", budget="5000 core-h")
    assert pc.plan(path, within="2 h", p_is="cores").recommended.nodes is None
    assert pc.plan(file("cores,time_s\n1,9\n2,5\n4,3\n", "c.csv")).node_size.p_is == "cores"
    saved = file("", "plan.json")
    told.save(saved)
    assert pc.load(saved) == told
    assert (told.recommended.cores, told.recommended.size) == (None, "7 nodes")
    matched = pc.match(path)
    assert matched.best.request.node_hours == pytest.approx(8 * 5200 / 3600)
    whole = pc.match(path, cores_per_node=48).best.request
    assert whole.core_hours == pytest.approx(48 * 8 * 5200 / 3600)
    matched.save(saved)
    assert pc.load(saved) == matched


def test_no_limit_is_printed_above_the_longest_time():
    alone = pc.plan(RUNS, within="10 h", p=[32]).recommended
    within = 60 * np.ceil(time_kept(alone.time, alone.upper, 0.905) / 60)
    best = pc.plan(RUNS, within=within, p=[32]).recommended
    assert best.time_limit == within
    assert best.limit_sure == pytest.approx(best.within, abs=1e-6)
    assert 0.9 <= best.limit_sure < 0.95


@pytest.mark.filterwarnings("ignore::parcast.timings.notes.ImportNote")
def test_a_plan_of_one_unit_of_work_loads_again(file):
    path = file("p,ns/day\n1,1\n2,1.95\n4,3.7\n8,6.9\n", "r.csv")
    told = pc.plan(pc.read_measurements(path, work="1 ns"), within="10 h")
    saved = file("", "plan.json")
    told.save(saved)
    assert pc.load(saved).answer == told.answer


def test_a_largest_count_below_those_measured_is_named():
    with pytest.raises(FitFailed, match="upto = 2 is below the smallest count, 4"):
        pc.plan(RUNS.select(p=[4, 8, 16]), upto=2)


@pytest.mark.parametrize("bad", ["", "EUR", "-5", "0", "nan", "5 6", "inf", True])
def test_a_budget_that_is_none_is_refused(bad):
    with pytest.raises(ParameterError, match="budget must"):
        pc.plan(RUNS, budget=bad)


def test_without_goals_half_of_the_processors_work():
    told = pc.plan(RUNS)
    assert told.goals.is_default
    assert told.recommended.efficiency >= 0.5
    assert "(default)" in str(told)


def test_goals_that_nothing_meets():
    told = pc.plan(RUNS, within="15 min")
    assert (told.recommended, told.place) == (None, None)
    assert told.answer.startswith("nothing meets the goals with 90% certainty; reachable: within")
    table = told.weighed.table
    least = np.where(table.is_told, table.kept(0.9), np.inf)
    assert told.nearest.p == table.p[np.argmin(least)]
    # the share of the time above ideal scaling that has to go, if it goes, is enough
    [share, *_] = told.needed_of_runs
    assert "above ideal scaling must go at p = " in share
    both = pc.plan(RUNS, within="37 min", budget="20 core-h")
    assert both.recommended is None
    assert len(both.reachable) == 2
    assert all("the other goals being met" in text for text in both.reachable)


def test_nothing_is_recommended_where_there_is_no_forecast():
    loose = pc.Measurements(p=[1, 2, 4], time=[100.0, 90.0, 20.0])
    told = pc.plan(loose, efficiency=0.01, certainty=0.5)
    hidden = ~pc.plan(loose, efficiency=0.01, certainty=0.5).weighed.table.is_told
    assert hidden.any()
    assert any("There is no forecast at" in text for text in told.warnings)
    assert told.recommended.p < told.weighed.table.p[hidden].min()
    assert pc.plan(loose, efficiency=0.01, beyond=True).weighed.table.is_told.all()


def test_the_least_change_of_each_parameter_is_enough_and_less_is_not():
    asked = {"within": "400 s", "seed": 3}
    told = pc.plan(PROGRAM, MACHINE, **asked)
    assert told.recommended is None
    by_name = {x.parameter: x for x in told.needed}
    assert {"storage.bandwidth", "io.volume", "d"} <= by_name.keys()
    for share, is_met in ((1.03, True), (0.97, False)):
        rate = by_name["storage.bandwidth"].needed * share
        storage = MACHINE.storage.model_validate({"servers": 4, "bandwidth": f"{rate} B/s"})
        faster = MACHINE.model_copy(update={"storage": storage})
        assert (pc.plan(PROGRAM, faster, **asked).recommended is not None) == is_met
    disks = int(by_name["d"].needed)
    assert pc.plan(PROGRAM, MACHINE, d=disks, **asked).recommended is not None
    assert pc.plan(PROGRAM, MACHINE, d=disks - 1, **asked).recommended is None


def test_a_factor_is_found_where_more_of_it_first_makes_things_worse():
    def bumpy(x):
        return (3 + 2 * np.sin(4 * np.log(x))) / x

    factor = least_factor(bumpy, 1000.0)
    grid = np.geomspace(1, 1000, 200_001)
    first = grid[bumpy(grid) <= 1][0]
    assert factor == pytest.approx(first, rel=1e-3)
    assert least_factor(lambda x: 2 + 0 * x, 1000.0) is None
    assert least_factor(lambda x: 3 * x, 1e-3) == pytest.approx(1 / 3, rel=1e-5)


@pytest.mark.parametrize("within", [70, 100, 119, 120, 150, 3600])
def test_a_wall_time_limit_is_kept_as_surely_as_the_goal(within):
    runs = Measurements(p=[1, 2, 4, 8, 16], time=[812.5, 420.1, 221.7, 121.3, 74.9])
    best = pc.plan(runs, within=f"{within} s").recommended
    assert best.limit_sure >= 0.9
    assert best.time_limit <= max(60 * np.ceil(within / 60), 60)


def test_no_run_is_advised_where_none_would_decide():
    runs = Measurements(p=[1, 2, 4, 8, 16], time=[812.5, 420.1, 221.7, 121.3, 74.9])
    assert pc.plan(runs, within="1 s").next_run is None
    near = pc.plan(runs, within="60 s", p=32)
    assert near.next_run.at == {"p": 32}
    reached = near.reachable[0].removeprefix("within ").partition(" (")[0]
    assert reached in str(near).partition("cores: takes ")[2]


def test_disks_are_chosen_with_the_nodes():
    told = pc.plan(PROGRAM, MACHINE, within="500 s", d=[4, 16, 64])
    best = told.recommended
    assert best.disks in {16, 64}
    assert best.nodes == -(-best.p // 48)
    assert told.considered == 3 * len(set(told.weighed.table.p.tolist()))
    rows = int(told.weighed.is_front.sum())
    assert f"of {told.considered} configurations; {rows} are rows, the others take" in str(told)


def test_times_between_the_counts_of_a_prediction_are_predicted():
    told = pc.plan(PROGRAM, MACHINE, within="20 min", p=np.arange(1, 513))
    i = int(np.flatnonzero(told.weighed.table.p == told.recommended.p)[0])
    best = told.configuration(i)
    same = pc.predict(PROGRAM, MACHINE, p=int(best.p))
    assert best.time == pytest.approx(same.time[0])
    assert best.upper == pytest.approx(same.upper[0], rel=0.01)
    assert best.efficiency == pytest.approx(same.efficiency[0], rel=0.01)
    assert best.cost == pytest.approx(0.02 * 48 * best.nodes * best.time / 3600)


def test_memory_is_a_goal():
    p = np.array([4, 8, 16, 32])
    runs = {"p": p, "time": 1200 / p + 3, "memory_B": [15.6e9, 7.96e9, 4.12e9, 2.19e9]}
    runs["memory_total_B"] = [61.9e9, 63.1e9, 64.9e9, 68.7e9]
    few = pc.plan(runs, memory="60 GB", cores_per_node=32, within="10 min")
    assert few.recommended.nodes == 2
    assert few.recommended.out_of_memory <= 0.1
    assert few.recommended.sure >= 0.9
    roomy = pc.plan(runs, memory="600 GB", cores_per_node=32, within="10 min")
    assert roomy.recommended.nodes == 1
    with pytest.raises(ParameterError, match="memory must be combined with the cores of a node"):
        pc.plan(runs, memory="60 GB")
    with pytest.raises(FitFailed, match="The table has no memory"):
        pc.plan(RUNS, memory="60 GB", cores_per_node=8)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("square", [1, 4, 9, 16, 25, 36, 49, 64, 81, 100]),
        ("power-of-two", [1, 2, 4, 8, 16, 32, 64]),
        ("divides:60", [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60]),
        ("multiple:48", [48, 96]),
    ],
)
def test_rules_of_counts(text, counts):
    rule = rule_of(text)
    assert rule.between(1, 100).tolist() == counts
    every = np.arange(1.0, 101.0)
    assert every[rule.holds(every)].tolist() == counts
    told = pc.plan(RUNS, efficiency=0.1, counts=text)
    assert set(told.weighed.table.p.tolist()) <= {*rule.between(1, 256).tolist()}


@pytest.mark.parametrize(
    "bad", ["cube", "divides", "multiple:0", "multiple:-3", "square:3", "", "multiple:1e3"]
)
def test_a_rule_that_is_none_is_refused(bad):
    with pytest.raises(ParameterError, match="counts must be a rule"):
        pc.plan(RUNS, counts=bad)


def test_contradictory_counts_are_refused():
    with pytest.raises(ParameterError, match="counts must allow one of p, got multiple:48"):
        pc.plan(RUNS, counts="multiple:48", p=[1, 2, 16])
    with pytest.raises(ParameterError, match="counts must allow one from 1 to 256"):
        pc.plan(RUNS, counts="multiple:300")
    with pytest.raises(FitFailed, match="It has 2 processors, fewer than any count of p"):
        pc.plan(RUNS, pc.Machine(name="here", processors=2), p=[4, 8])


def test_the_front_is_what_nothing_beats():
    random = np.random.default_rng(1)
    time, cost = random.lognormal(size=(2, 300))
    front = front_of(time, cost)
    beaten = [bool(np.any((time < t) & (cost <= c))) for t, c in zip(time, cost, strict=True)]
    assert sorted(front.tolist()) == [i for i, is_beaten in enumerate(beaten) if not is_beaten]


def test_the_run_that_makes_it_surer_is_that_of_plan_runs():
    told = pc.plan(RUNS, within="40 min")
    [same] = pc.plan_runs(RUNS, int(told.recommended.p), runs=1, upto=int(told.recommended.p))
    assert told.next_run.at == same.at


def test_the_command_answers_as_the_function_does(parcast, file, tmp_path):
    rows = zip(RUNS.p.tolist(), RUNS.time.tolist(), strict=True)
    times = file("p,time_s\n" + "".join(f"{p:g},{t}\n" for p, t in rows), "times.csv")
    said = parcast("plan", times, "--within", "40min", "--budget", "30 core-h", "--json")
    told = pc.plan(RUNS, within="40 min", budget="30 core-h")
    document = json.loads(said.out)
    assert (said.status, document["answer"]) == (0, told.answer)
    assert document["recommended"]["time_limit"] == told.recommended.clock
    assert sum(row["recommended"] for row in document["rows"]) == 1
    shown = parcast("plan", times, "--within", "40min", "-o", tmp_path / "plan.svg")
    assert shown.out.splitlines()[0].startswith("Plan: ask for ")
    assert "cost [core-hours]" in (tmp_path / "plan.svg").read_text(encoding="utf-8")
    nothing = parcast("plan", times, "--within", "1s")
    assert (nothing.status, nothing.err.splitlines()[-1]) == (
        1,
        "parcast: no: nothing meets the goals.",
    )
    refused = parcast("plan", times, "--counts", "cube")
    assert (refused.status, refused.err.startswith("parcast: --counts must be a rule")) == (
        2,
        True,
    )
    assert parcast("plan", "io", "--help").out.startswith("Usage: parcast plan io")


def test_a_program_needs_a_machine_and_no_options_of_tables(parcast, file):
    program = file('[[phase]]\nlaw = "spmd"\n[phase.compute]\nparallel = "60 s"\n', "program.toml")
    assert "MACHINE must be given with PROGRAM" in parcast("plan", program, "-p", "1..4").err
    said = parcast("plan", program, program, "--select", "machine=x")
    assert said.status == 2
    machine = file('name = "m"\n[network]\nbandwidth = "1 GB/s"\n', "machine.toml")
    said = parcast("plan", program, machine, "--select", "machine=x")
    assert "--select requires TIMINGS" in said.err
    said = parcast("plan", program, machine, "--within", "20s")
    assert said.err.startswith("parcast: -p must be given for a described program")
    assert parcast("plan", program, machine, "--within", "20s", "-p", "1..8").status == 0


def test_a_sawtooth_is_said_and_the_rule_that_avoids_it():
    p = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32])
    time = 1000 / p + 5
    time[np.isin(p, [3, 6, 12, 24])] *= 1.3
    said = [x for x in pc.plan({"p": p, "time": time}).warnings if "divide badly" in x]
    assert len(said) == 1
    assert "p = 3, 6, 12, 24" in said[0]
    assert "power-of-two" in said[0]
    told = pc.plan({"p": p, "time": time}, counts="power-of-two")
    assert not any("divide badly" in x for x in told.warnings)
    assert any("Runs at p = 3, 6, 12, 24 are left out" in x for x in told.warnings)
    even = np.isin(p, 2.0 ** np.arange(6))
    same = pc.plan({"p": p[even], "time": time[even]}, counts="power-of-two")
    assert told.recommended.time == pytest.approx(same.recommended.time)
    assert told.next_run is None or told.next_run.at["p"] in 2.0 ** np.arange(12)
    smooth = 1000 / p + 5 + 0.4 * p + np.log2(p)
    assert not any("divide badly" in x for x in pc.plan({"p": p, "time": smooth}).warnings)


def test_a_higher_certainty_makes_a_longer_limit():
    usual, sure = (pc.plan(RUNS, efficiency=0.5, p=24, certainty=x) for x in (0.9, 0.99))
    assert sure.recommended.time_limit > usual.recommended.time_limit
    assert "99% sure to finish" in sure.answer


def test_disks_of_nodes_grow_with_them():
    storage = {"bandwidth": "200 MB/s"}
    machine = MACHINE.model_validate(
        {
            "name": "local",
            "processors": 512,
            "storage": storage,
            "node": {"processors": 48, "servers": 2},
        }
    )
    told = pc.plan(PROGRAM, machine, within="20 min", p=np.arange(48, 481, 48)).recommended
    same = pc.predict(PROGRAM, machine, p=int(told.p))
    assert told.time == pytest.approx(same.time[0])
    assert told.nodes == told.p / 48
    nothing = pc.plan(PROGRAM, machine, within="100 s")
    assert "d" not in {x.parameter for x in nothing.needed}


def test_what_is_no_time_of_a_run_has_no_plan(parcast, file):
    rate = file("p,ns/day\n1,1\n2,1.9\n4,3.6\n8,6.5\n", "rate.csv")
    said = parcast("plan", rate)
    assert said.status == 2
    assert "TIMINGS must be times of runs, got times of one unit of work" in said.err
    assert parcast("plan", rate, "--work", "100 ns").status == 0


def test_a_machine_without_runs_is_projected_as_by_match():
    runs = RUNS.with_columns(machine="old")
    old = pc.Machine(name="old", compute={"rate": "10 Gflop/s"})
    new = pc.Machine(name="new", compute={"rate": "30 Gflop/s"}, processors=64)
    told = pc.plan(runs, [old, new], within="20 min", certainty=0.6)
    assert told.recommended.machine == "new"
    assert any("The time on new is projected from old" in x for x in told.warnings)
    assert "projection of new from old" in told.law
    p = int(told.recommended.p)
    matched = pc.match(runs, [old, new], p=[p])
    [same] = [x for x in matched.candidates if x.machine == "new"]
    assert told.recommended.time == pytest.approx(same.time[0])
    assert told.recommended.upper == pytest.approx(same.upper[0], rel=0.01)
    slow = pc.Machine(name="slow")
    left = pc.plan(runs, [old, slow], within="2 h")
    assert any("slow is not considered. It has no runs" in x for x in left.warnings)


def test_a_picture_tells_machines_apart_and_names_only_what_is_drawn():
    """Guards: machines were grey dots, as were those that do not fit."""
    p = np.array([1, 2, 4, 8, 16])
    runs = pc.Measurements(
        p=np.tile(p, 2), time=np.append(800 / p, 3000 / p + 9), machine=["A"] * 5 + ["B"] * 5
    )
    above, below = pc.plan(runs, within="2 min").plot()[:2]
    lines = {x.get_label(): x for x in above.get_lines()}
    assert lines["A"].get_color() != lines["B"].get_color()
    assert lines["A"].get_marker() != lines["B"].get_marker()
    assert "other alternatives" not in lines
    assert lines["does not fit"].get_marker() == "x"
    colours = {x.get_marker(): x.get_color() for x in below.get_lines()}
    assert colours[lines["B"].get_marker()] == lines["B"].get_color()
    lone = pc.plan(RUNS, p=[8, 16], within="58 min").plot()[0]
    assert "90% interval" in [x.get_label() for x in lone.collections]
    assert all(len(x.get_paths()) for x in lone.collections)


def test_what_is_less_sure_than_required_is_not_printed_as_sure():
    told = pc.plan(RUNS, within="40 min")
    shown = [_sure(replace(told.configuration(0), sure=x), told.goals) for x in (0.8996, 0.9004)]
    assert shown == ["<90", "90"]
