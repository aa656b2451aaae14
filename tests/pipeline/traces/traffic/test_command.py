"""`parcast explain traffic`: every form of the answer, its status, and what it refuses."""

import csv
import json
from functools import partial

import numpy as np
import pytest

from parcast.errors import ParameterError
from parcast.pipeline.traces.trace import read_trace, write_trace
from parcast.pipeline.traces.traffic.check import check_traffic
from parcast.pipeline.traces.traffic.picture import figure_of_traffic
from parcast.pipeline.traces.traffic.simulated import KINDS, simulated_trace
from tests.conftest import ROOT
from tests.written import written

EXAMPLES = ROOT / "examples" / "pipeline"


@pytest.fixture
def explain(parcast, monkeypatch):
    """Run `parcast explain traffic` in this process, on a screen of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    return partial(parcast, "explain", "traffic")


def write(path, kind, n=400, seed=1):
    gaps, lengths = KINDS[kind](np.random.default_rng(seed), n)
    trace = simulated_trace(gaps, lengths, capacity=50e6, latency=10e-6, program=kind)
    write_trace(path, trace.header, trace.events())
    return path


@pytest.mark.parametrize(("name", "kind"), [("poisson", "poisson"), ("bursts", "modulated")])
def test_the_examples_are_what_the_page_says_they_are(tmp_path, name, kind):
    made = write(tmp_path / "made.jsonl.gz", kind, n=1500, seed=16)
    kept = read_trace(EXAMPLES / f"{name}.jsonl.gz")
    assert list(kept.events()) == list(read_trace(made).events())


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("poisson", 0, "formula     M/M/1 is supported: no condition is violated"),
        ("bursts", 1, "formula     no delay formula is supported: gaps are not exponential"),
    ],
)
def test_the_answer_and_its_status(explain, name, status, says):
    said = explain(EXAMPLES / f"{name}.jsonl.gz")
    assert (said.status, said.err) == (status, "")
    assert says in said.out
    assert max(map(len, said.out.splitlines())) <= 80
    for row in ("gap  ", "length  ", "lengths independent of gap", "trace-driven queue"):
        assert row in said.out


@pytest.mark.parametrize("columns", [40, 60, 80, 120, 200])
def test_the_answer_fits_the_screen(explain, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    said = explain(EXAMPLES / "bursts.jsonl.gz")
    assert max(map(len, said.out.splitlines())) <= columns


def test_the_document_is_that_of_the_function(explain):
    path = EXAMPLES / "poisson.jsonl.gz"
    said = explain(path, "--capacity", "50 MB/s", "--latency", "10 us", "--seed", "3", "--json")
    document = json.loads(said.out)
    options = {"capacity": 50e6, "latency": 1e-5, "seed": 3}
    expected = written(check_traffic(read_trace(path), **options).to_document())
    inputs = document.pop("inputs")
    assert inputs["trace"] == {"file": str(path)}
    assert inputs["options"] == options
    assert document == {key: value for key, value in expected.items() if key != "inputs"}


def test_every_file_that_can_be_written_is(explain, tmp_path):
    names = ["a.csv", "a.json", "a.svg"]
    outputs = [x for name in names for x in ("-o", tmp_path / name)]
    each = tmp_path / "messages.csv"
    said = explain(write(tmp_path / "t.jsonl", "equal"), *outputs, "--messages", each)
    assert (said.status, said.err) == (0, "")
    with (tmp_path / "a.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["violated"] for row in rows] == ["True", *["False"] * 5]
    assert json.loads((tmp_path / "a.json").read_text())["formula"] == "md1"
    svg = (tmp_path / "a.svg").read_text()
    for text in ("Successive gaps", "exponential with the same mean", "M/D/1 is supported"):
        assert text in svg
    with each.open() as stream:
        messages = list(csv.DictReader(stream))
    assert len(messages) == 400
    assert messages[0]["gap_s"] == ""
    capacity = json.loads((tmp_path / "a.json").read_text())["capacity_B_per_s"]
    last = messages[-1]
    assert float(last["service_s"]) == pytest.approx(float(last["length_B"]) / capacity)


def test_the_same_trace_gives_the_same_picture(explain, tmp_path):
    for name in ("one.svg", "two.svg"):
        explain(EXAMPLES / "bursts.jsonl.gz", "-o", tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_too_few_messages_are_no_answer(explain, tmp_path):
    picture = tmp_path / "few.svg"
    said = explain(write(tmp_path / "few.jsonl", "poisson", n=12), "-o", picture)
    assert said.status == 4
    assert "nothing can be decided: 12 messages; at least 30 are needed" in said.out
    assert picture.exists()


def test_a_trace_without_messages_has_a_picture_that_says_so(explain, tmp_path):
    picture = tmp_path / "none.svg"
    assert explain(write(tmp_path / "none.jsonl", "poisson", n=0), "-o", picture).status == 4
    assert "no gaps" in picture.read_text()


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (("missing.jsonl",), 3, "must exist"),
        (("{csv}",), 3, "line 1  must be a JSON object"),
        (("{trace}", "--capacity", "5 GB"), 2, "--capacity must be a rate"),
        (("{trace}", "--capacity", "0 B/s"), 2, "--capacity must be above 0"),
        (("{trace}", "--latency", "-1s"), 2, "--latency must be at least 0"),
        (("{trace}", "--seed", "x"), 2, "--seed must be a whole number"),
        (("{trace}", "-o", "a.txt"), 2, "-o must be a path that ends in"),
        (("{trace}", "--messages", "a.json"), 2, "--messages must be a path that ends in .csv"),
        (("{trace}", "--messages", "no/such/a.csv"), 2, "--messages"),
        ((), 2, "TRACE must be given"),
    ],
)
def test_wrong_use_is_refused(explain, tmp_path, args, status, says):
    trace, table = write(tmp_path / "trace.jsonl", "poisson"), tmp_path / "t.csv"
    table.write_text("p,time_s\n1,2\n")
    said = explain(*(arg.format(trace=trace, csv=table) for arg in args))
    assert said.status == status
    assert says in said.err
    assert said.out == ""


def test_the_picture_has_four_panels_and_takes_no_axes():
    check = check_traffic(read_trace(EXAMPLES / "poisson.jsonl.gz"))
    axes = check.plot()
    assert [ax.get_title() for ax in axes] == [
        "Gaps",
        "Lengths",
        "Successive gaps (all)",
        "Mean delay",
    ]
    with pytest.raises(ParameterError, match="four panels"):
        check.plot(ax=axes[0])


def test_a_trace_comes_from_standard_input(explain):
    said = explain("-", stdin=(EXAMPLES / "poisson.jsonl.gz").read_bytes())
    assert (said.status, said.err) == (0, "")
    assert "1,500 messages" in said.out


def test_no_delay_of_the_picture_is_cut_off_by_an_edge():
    check = check_traffic(read_trace(EXAMPLES / "bursts.jsonl.gz"))
    delays = figure_of_traffic(check).axes[3]
    points = [line for line in delays.lines if line.get_marker() == "o"]
    assert len(points) == len(check.delays)
    assert not any(point.get_clip_on() for point in points)
