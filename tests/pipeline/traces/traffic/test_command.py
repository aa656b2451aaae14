"""`parcast explain traffic`: every form of the answer, its status, and what it refuses."""

import json
from functools import partial

import numpy as np
import pytest

from parcast.pipeline.traces.trace import read_trace, write_trace
from parcast.pipeline.traces.traffic.check import check_traffic
from tests.conftest import ROOT
from tests.pipeline.traces.traffic.simulated import KINDS, simulated_trace
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


def test_too_few_messages_are_no_answer(explain, tmp_path):
    picture = tmp_path / "few.svg"
    said = explain(write(tmp_path / "few.jsonl", "poisson", n=12), "-o", picture)
    assert said.status == 4
    assert "nothing can be decided: 12 messages; at least 30 are needed" in said.out
    assert picture.exists()


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
