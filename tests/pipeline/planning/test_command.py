"""`parcast plan pipeline`: what it prints, draws and writes, and what it refuses."""

import csv
import json

import numpy as np
import pytest

from parcast.deciding.picture import figure_of
from parcast.pipeline.planning.plan import plan_pipeline
from parcast.pipeline.planning.sheet import MOST_ROWS, rows_shown
from parcast.pipeline.traces.trace import write_trace
from tests.forecasting.test_command import document
from tests.pipeline.planning.test_from_trace import made
from tests.pipeline.planning.test_sources import MACHINE, PROGRAM
from tests.written import written

COSTS = ["--items", "100000", "--task", "5ms", "--merge", "0.2ms", "--message", "20kB"]
CHANNEL = ["--bandwidth", "1GB/s", "--latency", "20us", "--fetch", "10us"]


@pytest.fixture
def plan(parcast, monkeypatch):
    """Call `parcast plan pipeline` on 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *args: parcast("plan", "pipeline", *map(str, args))


def test_the_answer_comes_first_and_fits_the_width(plan):
    said = plan(*COSTS, *CHANNEL, "--ranks", "16")
    assert said.status == 0
    lines = said.out.splitlines()
    assert lines[0] == "Pipeline of 100,000 items, up to 16 ranks: 16 ranks"
    assert max(map(len, lines)) <= 80
    assert "ask for     16 ranks: 32.6 s, speedup 16.0, efficiency 100%" in lines
    assert "run         parcast run pipeline JOB -np 16 --batch 1" in lines
    wide = plan(
        *["--items", "100000000", "--task", "50ms +- 10%", "--merge", "2ms", "--growth", "0.6"],
        *["--message", "20kB", "--bandwidth", "1GB/s", "--overhead", "1ms", "--ranks", "4096"],
        *["--channel", "own"],
    )
    assert max(map(len, wide.out.splitlines())) <= 80


def test_a_narrow_page_has_an_entry_for_each_plan(plan, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    said = plan(*COSTS, *CHANNEL, "--ranks", "4")
    assert max(map(len, said.out.splitlines())) <= 50
    assert "* 4 ranks" in said.out


def test_the_document_is_that_of_python(plan):
    told = document(plan(*COSTS, *CHANNEL, "--ranks", "12", "--json"))
    result = plan_pipeline(
        items=100_000,
        task="5ms",
        merge="0.2ms",
        message="20kB",
        bandwidth="1GB/s",
        latency="20us",
        fetch="10us",
        ranks=12,
    )
    assert told["schema"] == "parcast/pipeline-plan/1"
    assert told["plans"] == written(list(result.rows()))
    assert told["arguments"] == result.arguments
    assert told["costs"]["task_s"] == 5e-3
    others = ("per_node", "within_s", "efficiency", "measured_cores")
    assert told["limits"] == {"ranks": 12} | dict.fromkeys(others)
    assert told["inputs"]["options"]["items"] == 100_000


def test_files_are_written_in_every_format(plan, tmp_path):
    paths = [tmp_path / f"plan.{x}" for x in ("csv", "json", "svg", "png", "pdf")]
    said = plan(*COSTS, "--ranks", "8", *(word for path in paths for word in ("-o", path)))
    assert said.status == 0
    rows = list(csv.DictReader(paths[0].read_text(encoding="utf-8").splitlines()))
    assert [int(row["ranks"]) for row in rows] == [*range(1, 9)]
    assert [row["recommended"] for row in rows].count("True") == 1
    assert json.loads(paths[1].read_text(encoding="utf-8"))["options"] == "-np 8 --batch 1"
    assert "Pipeline of 100,000 items" in paths[2].read_text(encoding="utf-8")
    assert all(path.stat().st_size > 1000 for path in paths[2:])


def test_a_trace_is_planned(plan, tmp_path):
    trace = made(merge_growth=0.6, message_growth=0.6)
    path = tmp_path / "run.jsonl"
    write_trace(path, trace.header, trace.events())
    said = plan("--trace", path, "--items", "100000", "--ranks", "64")
    assert said.status == 0
    assert "based on    wall times of a run of 256 items on 2 ranks" in said.out
    assert "merges grow as items^0.60" in said.out
    told = document(plan("--trace", path, "--ranks", "4", "--json"))
    assert told["inputs"]["trace"]["file"] == str(path)
    assert told["costs"]["items"] == 256


def test_a_trace_without_its_option_is_refused_with_it(plan, tmp_path):
    said = plan(tmp_path / "run.jsonl")
    assert (said.status, said.out) == (2, "")
    path = tmp_path / "run.jsonl"
    assert said.err.startswith(f"parcast: {path} must be given as a trace: --trace {path}\n")


def test_files_may_have_any_order(plan, tmp_path):
    program, machine = tmp_path / "p.toml", tmp_path / "m.toml"
    program.write_text(PROGRAM.format(more=""), encoding="utf-8")
    machine.write_text(MACHINE, encoding="utf-8")
    one = plan(program, machine, "-n", "5000", "--ranks", "8")
    other = plan(machine, program, "-n", "5000", "--ranks", "8")
    assert one.status == 0
    assert one.out == other.out
    only = plan(machine, *COSTS, "--ranks", "8")
    assert "based on    network of box" in only.out
    refused = plan(program, "--trace", tmp_path / "none.jsonl", "--ranks", "8")
    assert refused.status == 2
    assert "--trace cannot be combined with" in refused.err


def test_no_plan_ends_with_status_1(plan):
    costs = ["--items", "1000", "--task", "5ms", "--merge", "10ms", "--schedule", "source"]
    alone = plan(*costs)
    assert alone.status == 0
    assert alone.out.splitlines()[0].endswith(": 1 rank")
    said = plan(*costs, "--within", "1s")
    assert said.status == 1
    assert said.out.replace("\n", " ").partition("  ")[0].endswith(": no plan")
    for each in (alone, said):
        assert "a merge takes 2 times the task" in " ".join(each.out.split())
    assert "parcast: no: no plan is balanced within the limits.\n" in said.err
    late = plan(*COSTS, "--within", "1ms")
    assert late.status == 1
    assert "the least time of a balanced plan is" in late.out


def test_limits_are_in_the_title(plan):
    said = plan(*COSTS, "--within", "1min", "--efficiency", "90%", "--per-node", "8")
    assert said.status == 0
    title = " ".join(said.out.partition("\n\n")[0].split())
    assert title.startswith(
        "Pipeline of 100,000 items, up to 1,024 ranks, within 60 s, efficiency of at least 90%: "
    )
    assert title.endswith(" ranks on 2 nodes")


def test_all_rank_counts_are_shown_when_asked_for(plan):
    some = plan(*COSTS, "--ranks", "100")
    assert f"{MOST_ROWS} of 100 rank counts are shown" in some.err
    every = plan(*COSTS, "--ranks", "100", "--all")
    assert "are shown" not in every.err
    assert len(every.out.splitlines()) > 200
    result = plan_pipeline(items=100_000, task="5ms", ranks=100)
    shown = [result.plans[i].ranks for i in rows_shown(result)]
    assert shown == sorted(shown)
    assert {1, 100, result.best.ranks} <= set(shown)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "--items must be given"),
        (["--items", "10"], "--task must be given"),
        (["--items", "10", "--task", "5"], '--task must be a time such as "150 us", got "5"'),
        ([*COSTS, "--growth", "much"], "--growth must be a number, got 'much'"),
        ([*COSTS, "--growth", "9"], "--growth must lie between 0 and 3"),
        ([*COSTS, "--efficiency", "0%"], "--efficiency must be an efficiency above 0%"),
        ([*COSTS, "--bandwidth", "1GB"], "--bandwidth must be a rate"),
        ([*COSTS, "-n", "5,6"], "-n must be one value here"),
        ([*COSTS, "--ranks", "0"], "--ranks must be"),
        ([*COSTS, "-o", "plan.txt"], "-o must be a path that ends in"),
    ],
)
def test_wrong_use_is_refused(plan, args, message):
    said = plan(*args)
    assert said.status in {1, 2}
    assert said.out == ""
    assert message in said.err


def test_a_missing_trace_is_a_bad_file(plan, tmp_path):
    said = plan("--trace", tmp_path / "none.jsonl")
    assert said.status == 3
    assert "none.jsonl" in said.err


def test_the_group_lists_its_parts(parcast):
    told = parcast("plan")
    assert told.status == 0
    assert "pipeline  Ranks, pipelines and batch of a pipeline." in told.out


def test_the_picture_shows_the_plans_and_their_stages():
    result = plan_pipeline(items=100_000, task="5 ms +- 10%", fetch="0.2 ms", ranks=64)
    figure = figure_of(result)
    upper, lower = figure.axes
    assert upper.get_xscale() == upper.get_yscale() == lower.get_yscale() == "log"
    lines = {line.get_label(): line for line in upper.get_lines()}
    times = lines["best plan"].get_ydata()
    fits = np.array([x.fits for x in result.plans])
    assert np.array_equal(times[fits], result.times[fits])
    assert np.isnan(times[~fits]).all()
    ring = lines[f"recommended: {result.best.ranks} ranks, {result.best.time:.3g} s"]
    assert list(ring.get_xdata()) == [result.best.ranks]
    stages = {line.get_label(): line for line in lower.get_lines()}
    assert {"task", "fetch"} <= set(stages)
    assert "merge" not in stages  # it takes no time
    crossing = stages["fetch"].get_xdata()[
        stages["fetch"].get_ydata() > stages["task"].get_ydata()
    ]
    assert crossing.min() == 26  # 25 ranks need an item every 0.2 ms
    assert not next(x for x in result.plans if x.ranks == 26).fits


def test_a_picture_without_a_plan_is_drawn():
    result = plan_pipeline(items=1000, task="5 ms", merge="10 ms", schedule="source", ranks=16)
    upper, lower = figure_of(result).axes
    assert "does not fit" in [line.get_label() for line in upper.get_lines()]
    assert lower.get_visible()
    one = plan_pipeline(items=100, task="5 ms", ranks=1)
    assert len(figure_of(one).axes) == 2
