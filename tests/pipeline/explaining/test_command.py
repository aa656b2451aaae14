"""`parcast explain pipeline`: what it prints and writes, and what it refuses."""

import csv
import json

import pytest

from parcast.pipeline.explaining.explain import explain_pipeline
from tests.forecasting.test_command import document
from tests.pipeline.explaining.traced import traced
from tests.written import written


def test_a_schedule_is_printed(parcast, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    said = parcast("explain", "pipeline", "-np", "8")
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("Parallel pipeline, published schedule: 8 ranks\n")


def test_the_document_has_every_event(parcast):
    told = document(parcast("explain", "pipeline", "-np", "4", "--items", "9", "--json"))
    result = explain_pipeline(4, items=9)
    assert told["schema"] == "parcast/pipeline-schedule/1"
    assert told["rows"] == written(list(result.rows()))
    assert (told["depth"], told["speedup"], told["busy"]) == (5, 3.2, result.busy)
    assert told["inputs"]["options"] == {
        "ranks": 4,
        "pipelines": None,
        "schedule": None,
        "cycles": None,
        "items": 9,
    }
    adaptive = document(parcast("explain", "pipeline", "-np", "6", "--json"))
    assert "depth" not in adaptive
    assert adaptive["items"] == 24


def test_files_are_written_in_every_format(parcast, tmp_path):
    paths = [tmp_path / f"schedule.{x}" for x in ("csv", "json", "svg")]
    outputs = [word for path in paths for word in ("-o", path)]
    said = parcast("explain", "pipeline", "-np", "2", *outputs)
    assert (said.status, said.err) == (0, "".join(f"parcast: wrote {x}.\n" for x in paths))
    rows = list(csv.DictReader(paths[0].read_text().splitlines()))
    assert [row["event"] for row in rows[:3]] == ["task", "task", "message"]
    assert json.loads(paths[1].read_text())["ranks"] == 2
    assert paths[2].stat().st_size > 1000


def test_a_trace_is_explained_and_drawn(parcast, tmp_path):
    path, picture = traced(tmp_path / "run.jsonl.gz"), tmp_path / "timeline.png"
    said = parcast("explain", "pipeline", path, "-o", picture)
    assert (said.status, said.err) == (0, f"parcast: wrote {picture}.\n")
    assert said.out == parcast("explain", "pipeline", "--trace", path).out
    assert said.out.startswith("count words, schedule adaptive: 4 ranks")
    assert picture.read_bytes()[:4] == b"\x89PNG"
    told = document(parcast("explain", "pipeline", "--trace", path, "--json"))
    assert told["schema"] == "parcast/pipeline-timeline/1"
    assert told["inputs"]["trace"] == {"file": str(path)}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "either -np COUNT or one TRACE must be given."),
        (("-np", "4", "--trace", "x"), "either -np COUNT or one TRACE must be given."),
        (("x", "--trace", "y"), "either -np COUNT or one TRACE must be given."),
        (("x", "--items", "4"), "--items cannot be combined with TRACE, which contains it. Leave"),
        (
            ("-np", "6", "--schedule", "source"),
            "-np must be a power of two with --schedule source, got 6. Use --schedule adaptive, "
            "which takes any number.",
        ),
        (("-np", "2,4"), "-np must be a whole number from 1 to 1000000, got '2,4'."),
        (("-np", "0"), "-np must be a whole number from 1 to 1000000, got '0'."),
        (("-np", "6", "--cycles", "2"), "--cycles must be left out with --schedule adaptive"),
        (("-np", "4", "--items", "0"), "--items must be a whole number from 1 to 1000000, got"),
        (("-np", "4", "--schedule", "sorce"), "--schedule must be source or adaptive, got 'sor"),
        (("-np", "1024", "--cycles", "9999"), "--items must give at most 1,000,000 tasks"),
    ],
)
def test_wrong_use_is_refused(parcast, words, says):
    said = parcast("explain", "pipeline", *words)
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith(f"parcast: {says}")
    assert said.err.endswith("See: parcast explain pipeline --help\n")


def test_a_file_that_is_no_trace_is_refused(parcast, tmp_path, file):
    path = file("p,time_s\n1,2\n", "run.jsonl")
    said = parcast("explain", "pipeline", "--trace", path)
    assert (said.status, said.out) == (3, "")
    assert "must be a JSON object" in said.err
    missing = parcast("explain", "pipeline", "--trace", tmp_path / "none.jsonl")
    assert missing.status == 3
    assert "none.jsonl" in missing.err
    over = parcast("explain", "pipeline", "--trace", traced(path), "-o", path)
    assert over.status == 2


@pytest.mark.parametrize("words", [("-np", "8"), ("-np", "16", "--items", "100"), ("-np", "6")])
def test_no_line_is_long_where_there_is_no_terminal(parcast, monkeypatch, words):
    monkeypatch.delenv("COLUMNS", raising=False)
    said = parcast("explain", "pipeline", *words)
    assert max(map(len, said.out.splitlines())) <= 100
